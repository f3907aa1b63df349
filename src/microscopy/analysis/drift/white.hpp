// The jitter that is new in each frame, from the steps within blinks.
// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/drift/blinks.hpp"

namespace glint::drift {

/// Its standard deviation an axis. An axis that does not tell it well takes the mean of all; 0 where that is not known either.
std::array<double, 3> white_nm(const Table& table, const Blinks& blinks);

}  // namespace glint::drift
