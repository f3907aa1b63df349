// The motion that makes what is seen likeliest.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "analysis/drift/smoother.hpp"

namespace glint::drift {

/// The motion of the highest likelihood that is found from one of the starts; the white jitter of the first is kept.
Motion fit_motion(const Seen& seen, const std::vector<char>& jumps, std::span<const Motion> starts);

}  // namespace glint::drift
