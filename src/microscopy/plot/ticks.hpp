// Where an axis has numbers.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace glint::plots {

struct Tick {
    double value = 0;
    std::string text = {};  ///< empty: a short tick without a number
};

/// Returns multiples of 1, 2 or 5 times a power of ten from `low` to `high`, about `wanted` of them or fewer. All have
/// the same number of decimals.
std::vector<Tick> linear_ticks(double low, double high, int wanted);

/// Returns powers of ten, and short ticks at their multiples. If fewer than two powers lie in the range, numbers at 1,
/// 2 and 5 times these. `low` must be positive.
std::vector<Tick> log_ticks(double low, double high, int wanted);

}  // namespace glint::plots
