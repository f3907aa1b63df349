// Counts pairs of rows by lag, the number of frames between them. At far lags, pairs are chance.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/link/rows.hpp"
#include "glint/link.hpp"

namespace glint {

/// Returns lags at which two rows belong to different blinks. They start at a tenth of the movie, limited to between 50
/// and `from` frames. In a short movie, they are in the larger half of its lags. Empty if the movie has fewer than 20
/// frames.
std::vector<std::uint32_t> far_lags(std::uint32_t frames, std::uint32_t from);

/// Numbers of pairs by squared scaled distance: in the next frame, and the mean of the far lags (eq. 13.2).
struct DistanceCounts {
    static constexpr double most = 10, bin = 0.25;  ///< largest distance, standard deviations; bin of its square
    std::vector<double> next, far;
    bool has_far = false;
};
DistanceCounts count_distances(const LinkRows& rows);

/// Returns the in-track variance of x and y, and of z, from pairs in consecutive frames (eq. 13.4). The chance pairs
/// that far lags show are subtracted. `scale2` is the factor between squared scaled distances and chi squared.
struct InTrackVariances {
    InTrackVariance lateral, axial;
};
InTrackVariances in_track_variances(const LinkRows& rows, double scale2);

/// Counts of the ends of tracks by the lag of the first start of another track within `radius`. Element k is for k
/// frames. Ends and starts are rows of `rows`.
struct GapCounts {
    std::vector<double> at_lag;  ///< [0] and [1] unused
    std::vector<double> open;    ///< ends without a start at smaller lags
    std::vector<double> chance;  ///< chance pairs among at_lag, from `far` and `open`
    double far = 0;              ///< pairs of an end and a start, mean of the far lags
    double ends = 0;
    bool has_far = false;
};
/// Counts gaps. Ends are at the means of their tracks, as in linking; with `is_fixed`, at the last rows.
GapCounts count_gaps(const LinkRows& rows, std::span<const std::uint32_t> track, double radius, std::uint32_t lags,
                     bool is_fixed);

}  // namespace glint
