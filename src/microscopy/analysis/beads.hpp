// Beads in a z-stack: positions, and shape in each slice, by second moments with a Gaussian weight that adapts to it.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "glint/camera.hpp"
#include "glint/detect.hpp"
#include "glint/movie.hpp"

namespace glint {

/// Centre (px) and covariance (px^2).
struct Moments {
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
};

/// Adaptive moments (Bernstein & Jarvis, Astron. J. 123, 583 (2002)): an elliptical Gaussian weight is iterated until
/// it has the spot's shape, so that noise and halos far out have no weight, and tilted axes are measured. Empty if it
/// does not converge inside the ROI.
std::optional<Moments> gaussian_moments(std::span<const float> pixels, int size, double background,
                                        const Moments& start);

/// What the sum of all slices shows.
struct FoundBeads {
    Spots isolated;  ///< their window lies inside the frame and contains no other spot
    Spots all;       ///< all bright spots
};
FoundBeads find_beads(Movie& stack, const Camera& camera, double sigma_px, int roi_size);

/// How many of `all` are isolated, and why the others are not.
std::string why_not_isolated(const Spots& all, const MovieInfo& info, int roi_size);

/// The centres of groups of spots of which each is nearer than `distance` px to another of its group: several lobes of
/// one bead make a group. Only those whose window lies inside the frame.
Spots centres_of_groups(const Spots& spots, const MovieInfo& info, int distance, int roi_size);

/// One bead in one slice, in pixels.
struct BeadShape {
    double sigma_x = 0, sigma_y = 0, sigma_x_unc = 0, sigma_y_unc = 0;
    double photons = 0;
    /// Elongation along x versus y, and along one diagonal versus the other, from second moments (eq. 9.3):
    /// (sxx - syy) / (sxx + syy) and 2 sxy / (sxx + syy). Rotating the lens by t rotates the pair by 2 t.
    double along_axes = 0, along_diagonals = 0;
};

/// The measured shapes, slice by slice; beads whose fit failed are omitted.
std::vector<std::vector<BeadShape>> measure_beads(Movie& stack, const Camera& camera, const Spots& beads,
                                                  double sigma_px, int roi_size);

/// The share of the beads in each slice whose window's best spot, as `localize` detects it, lies at the bead's centre.
/// Far from the focus, spots split into lobes, or are too wide and dim to be found.
std::vector<double> detected_at_centre(Movie& stack, const Camera& camera, const Spots& beads, double sigma_px,
                                       int roi_size);

}  // namespace glint
