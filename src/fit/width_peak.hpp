// The peak of single molecules among the fitted widths of spots, some of which are pairs.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace glint {

/// Where a quarter of the values are closest together: the peak of single molecules, however many of the spots are pairs.
struct WidthPeak {
    double low, high;
    double deviation() const { return (high - low) / 0.64; }  // of a Gaussian, the middle quarter is 0.64 of it wide
    double reach() const { return 3 * (high - low); }         // with its slopes
    double middle() const { return (low + high) / 2; }
    bool has(double value) const { return std::abs(value - middle()) <= reach(); }
};

/// Of at least one value.
inline WidthPeak peak_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t quarter = values.size() / 4;
    std::size_t best = 0;
    for (std::size_t k = 0; k + quarter < values.size(); ++k)
        if (values[k + quarter] - values[k] < values[best + quarter] - values[best]) best = k;
    return {values[best], values[best + quarter]};
}

}  // namespace glint
