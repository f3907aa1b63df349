// Counts of pairs of rows a number of frames apart: those of one blink and, far apart, those of chance.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/link/rows.hpp"
#include "glint/link.hpp"

namespace glint {

/// Lags at which two rows are of different blinks: from a tenth of the movie on, but 50 to `from` frames, or, of a short movie, the
/// larger half of its lags; empty where there are none.
std::vector<std::uint32_t> far_lags(std::uint32_t frames, std::uint32_t from);

/// Numbers of pairs by their squared scaled distance: in the next frame, and the mean of the far lags (eq. 13.2).
struct DistanceCounts {
    static constexpr double most = 10, bin = 0.25;  ///< standard deviations; of the squared distance
    std::vector<double> next, far;
    bool has_far = false;
};
DistanceCounts count_distances(const LinkRows& rows);

/// In-track variance of x and y, and of z, from pairs in consecutive frames, less what pairs of far lags say of chance (eq. 13.4).
/// `scale2`: squared scaled distances are that much larger than chi squared.
struct InTrackVariances {
    InTrackVariance lateral, axial;
};
InTrackVariances in_track_variances(const LinkRows& rows, double scale2);

/// Ends of tracks whose first start of another within `radius` is k frames later: element k. Both are rows of `rows`.
struct GapCounts {
    std::vector<double> at_lag;  ///< [0] and [1] unused
    std::vector<double> open;    ///< ends that have had no start before
    std::vector<double> chance;  ///< how many of them are, from `far` and the ends that have had no start before
    double far = 0;              ///< pairs of an end and a start, mean of the far lags
    double ends = 0;
    bool has_far = false;
};
/// Ends lie at the means of their tracks, as links take them; with `is_fixed` at their last rows.
GapCounts count_gaps(const LinkRows& rows, std::span<const std::uint32_t> track, double radius, std::uint32_t lags,
                     bool is_fixed);

}  // namespace glint
