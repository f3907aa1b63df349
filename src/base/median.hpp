// The median of values, and its error.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace glint {

/// Returns the median of at least one value, none of them NaN; for an even number, the mean of the middle two.
template <class Value>
double median(std::vector<Value> values) {
    const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2) return double(*middle);
    return 0.5 * (double(*middle) + double(*std::max_element(values.begin(), middle)));
}

/// Returns the standard error of the median `middle`, or 0 for fewer than five values, which are too few for an
/// estimate. Uses the median absolute deviation, which times 1.4826 is the standard deviation of a Gaussian. The
/// median's error is sqrt(pi / 2) times the mean's.
inline double error_of_median(const std::vector<double>& values, double middle) {
    constexpr std::size_t min_values = 5;
    if (values.size() < min_values) return 0;
    std::vector<double> apart;
    for (const double value : values) apart.push_back(std::abs(value - middle));
    return 1.2533 * 1.4826 * median(std::move(apart)) / std::sqrt(double(values.size()));
}

}  // namespace glint
