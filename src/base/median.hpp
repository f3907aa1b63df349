// The median of values.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace glint {

/// Of at least one value, none of them NaN; the mean of the middle two of an even number.
template <class Value>
double median(std::vector<Value> values) {
    const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2) return double(*middle);
    return 0.5 * (double(*middle) + double(*std::max_element(values.begin(), middle)));
}

}  // namespace glint
