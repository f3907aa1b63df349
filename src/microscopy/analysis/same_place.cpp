// Computes the shares of close pairs at two ranges of lags, and their errors from the scatter over lags.
// SPDX-License-Identifier: MIT
#include "analysis/same_place.hpp"

#include <algorithm>
#include <cmath>

namespace glint {
namespace {

constexpr int lags = 16;
constexpr double wide_in_precisions = 8, close_in_precisions = 2;
constexpr std::size_t enough_repeats = 20000, fewest_repeats = 400;

struct CloseFraction {
    double mean = 0, error = 0;
};

/// Returns the share of close pairs among the pairs within the wide radius, over lags from `first` in steps of `step`.
/// The error comes from the scatter between lags.
CloseFraction close_fraction(const FrameNeighbors& neighbors, std::uint32_t first, std::uint32_t step, float wide_px,
                             float close_px) {
    std::vector<double> wide, close;
    double all_wide = 0, all_close = 0;
    for (std::uint32_t k = 0; k < lags && (k < 4 || all_wide < double(enough_repeats)); ++k) {
        const auto pairs = neighbors.nearest(first + k * step, wide_px);
        wide.push_back(double(pairs.size()));
        close.push_back(double(
            std::count_if(pairs.begin(), pairs.end(), [&](const FramePair& p) { return p.distance_px < close_px; })));
        all_wide += wide.back(), all_close += close.back();
    }
    if (all_wide < double(fewest_repeats) || all_close < 1) return {};
    const double share = all_close / all_wide;
    double squares = 0;
    for (std::size_t k = 0; k < wide.size(); ++k)
        squares += (close[k] - share * wide[k]) * (close[k] - share * wide[k]);
    const double n = double(wide.size());
    // Few lags may scatter less than counting statistics by chance.
    const double variance = std::max(squares * n / (n - 1), all_close);
    return {share, std::sqrt(variance) / all_wide};
}

}  // namespace

SamePlace::SamePlace(const FrameNeighbors& neighbors, double pixel_size_nm, double precision_nm) {
    const auto& places = neighbors.places();
    if (places.empty() || !(precision_nm > 0)) return;
    const std::uint32_t frames = places.back().frame - places.front().frame;
    sooner_frames = std::max(frames / 200, 100u), later_frames = frames / 4;
    if (later_frames < 4 * sooner_frames) return;
    radius_nm = close_in_precisions * precision_nm;
    const auto wide_px = float(wide_in_precisions * precision_nm / pixel_size_nm),
               close_px = float(radius_nm / pixel_size_nm);
    const CloseFraction sooner =
        close_fraction(neighbors, sooner_frames, std::max(sooner_frames / 16, 1u), wide_px, close_px);
    const CloseFraction later = close_fraction(neighbors, later_frames, later_frames / 16, wide_px, close_px);
    if (!(sooner.mean > 0 && later.mean > 0)) return;
    ratio = later.mean / sooner.mean;
    error = ratio * std::hypot(sooner.error / sooner.mean, later.error / later.mean);
}

}  // namespace glint
