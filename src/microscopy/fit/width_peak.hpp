// The peak of single molecules among the fitted widths of spots, some of which are pairs of molecules.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

namespace glint {

/// The narrowest range that contains a quarter of the values: the peak of single molecules, for any share of pairs.
struct WidthPeak {
    double low, high;
    // the middle quarter of a Gaussian is 0.64 deviations wide
    double deviation() const { return (high - low) / 0.64; }
    double reach() const { return 3 * (high - low); }  // including the flanks of the peak
    double middle() const { return (low + high) / 2; }
    bool has(double value) const { return std::abs(value - middle()) <= reach(); }
};

/// Returns the peak of at least one value.
inline WidthPeak peak_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t quarter = values.size() / 4;
    std::size_t best = 0;
    for (std::size_t k = 0; k + quarter < values.size(); ++k)
        if (values[k + quarter] - values[k] < values[best + quarter] - values[best]) best = k;
    return {values[best], values[best + quarter]};
}

/// Returns the share of lone spots that are pairs. Among random molecules, this is the share with another molecule
/// within the distance at which detection separates them.
inline double share_of_pairs(double density_per_px, double width_px) {
    constexpr double parted_widths = 2.5;
    return density_per_px * std::numbers::pi * std::pow(parted_widths * width_px, 2);
}

/// Returns the share of these widths that are greater than the peak's, beyond their errors.
inline double wider_share(const std::vector<double>& widths, const std::vector<double>& errors, const WidthPeak& peak) {
    constexpr double clear_errors = 3;
    double wider = 0;
    for (std::size_t k = 0; k < widths.size(); ++k)
        wider += widths[k] > peak.middle() + std::max(peak.reach(), clear_errors * errors[k]);
    return wider / double(widths.size());
}

/// Returns true if there are more spots wider than the peak than pairs explain: molecules at several depths, or of
/// several kinds.
inline bool has_wide_molecules(double wider_share, double share_of_pairs) {
    constexpr double min_share = 0.15, times_pairs = 2;
    return wider_share > std::max(min_share, times_pairs * share_of_pairs);
}

}  // namespace glint
