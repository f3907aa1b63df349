// The motion that makes what is seen likeliest.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "analysis/drift/smoother.hpp"

namespace glint::drift {

/// The motion of the highest likelihood, from `start`, whose white jitter is kept.
Motion fit_motion(const Seen& seen, const std::vector<char>& jumps, const Motion& start);

/// The same of several axes, with more care: also from a fast jitter. One motion for all where axes of their own do not make it likelier by what
/// their parameters cost (Akaike).
void fit_motions(std::span<const Seen* const> seen, const std::vector<char>& jumps, std::span<Motion> motions);

}  // namespace glint::drift
