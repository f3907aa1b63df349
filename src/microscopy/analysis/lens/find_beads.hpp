// Finds beads of any PSF on the projections of a stack, and cuts their windows.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/lens/bead_window.hpp"
#include "glint/camera.hpp"
#include "glint/movie.hpp"

namespace glint::lens {

/// The distance of two beads, in windows, from which on neither disturbs the other.
inline constexpr double min_distance_in_windows = 0.9;

/// Projections of a stack over z, photoelectrons. Missing pixels (NaN) count as 0 and are marked.
struct Projection {
    int width = 0, height = 0;
    std::vector<float> mean, max;
    std::vector<char> saturated, missing;  ///< in any slice
    std::vector<std::size_t> missing_in_slice;
    std::vector<char> constant_slice;
    double noise = 0;  ///< standard error of `mean` in a dark pixel

    std::size_t at(int x, int y) const { return std::size_t(y) * std::size_t(width) + std::size_t(x); }
};

/// Reads slices of a stack, at least two. `between_slices` may throw to stop.
Projection project(Movie& stack, const CameraView& view, const std::vector<std::int64_t>& slices,
                   const std::function<void()>& between_slices);

/// A maximum of the filtered projection.
struct BeadCandidate {
    std::size_t file = 0;
    double x_px = 0, y_px = 0;  ///< centroid of its light
    double light = 0;           ///< of the mean projection above the background
    std::string rejected = {};  ///< why it is not used; empty if it is
};

/// Finds bright spots of the mean projection, after a Gaussian filter that is wider than the distance of two lobes.
/// Empty for a flat stack.
std::vector<BeadCandidate> find_candidates(const Projection& projection, std::size_t file);

/// The window that contains the spots, px, odd: the mean projections of isolated candidates fall below 1 % of their
/// maximum 2 px inside of its border. Smaller if fewer than eight candidates would be usable.
int choose_window(std::span<const Projection> projections, const std::vector<BeadCandidate>& candidates);

/// Rejects candidates that are saturated, have missing pixels, lie too near another or the edge, or are much dimmer
/// or brighter than the median.
void reject_candidates(std::span<const Projection> projections, int window, std::vector<BeadCandidate>& candidates);

/// Reads slices of a stack and cuts the windows of its candidates that are not rejected, in their order. `z_nm`: of
/// each slice.
std::vector<BeadWindow> cut_windows(Movie& stack, const CameraView& view, std::size_t file, int window,
                                    const std::vector<std::int64_t>& slices, const std::vector<double>& z_nm,
                                    const std::vector<BeadCandidate>& candidates,
                                    const std::function<void()>& between_slices);

}  // namespace glint::lens
