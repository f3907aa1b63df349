// Finds beads in a z-stack and measures their shape in each slice.
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

/// Returns adaptive moments (Bernstein & Jarvis, Astron. J. 123, 583 (2002)). An elliptical Gaussian weight is iterated
/// until it has the shape of the spot. Distant noise and halos therefore have no weight, and tilted axes are measured.
/// Empty if the iteration does not converge inside the ROI.
std::optional<Moments> gaussian_moments(std::span<const float> pixels, int size, double background,
                                        const Moments& start);

/// Beads found in the sum of all slices.
struct FoundBeads {
    Spots isolated;  ///< the window lies inside the frame and contains no other spot
    Spots all;       ///< all bright spots
};
FoundBeads find_beads(Movie& stack, const Camera& camera, double sigma_px, int roi_size);

/// Returns how many of `all` are isolated, and why the rest are not.
std::string why_not_isolated(const Spots& all, const MovieInfo& info, int roi_size);

/// Returns the centres of groups of spots, such as the lobes of one bead. Each spot of a group is nearer than
/// `distance` px to another spot of the group. Includes only centres whose window lies inside the frame.
Spots centres_of_groups(const Spots& spots, const MovieInfo& info, int distance, int roi_size);

/// One bead in one slice, in pixels.
struct BeadShape {
    double sigma_x = 0, sigma_y = 0, sigma_x_unc = 0, sigma_y_unc = 0;
    double photons = 0;
    /// Elongation along x versus y and along one diagonal versus the other, from second moments (eq. 9.3): (sxx - syy)
    /// / (sxx + syy) and 2 sxy / (sxx + syy). Rotating the lens by t rotates the pair by 2 t.
    double along_axes = 0, along_diagonals = 0;
};

/// Returns the measured shapes, slice by slice. Omits beads whose fit failed.
std::vector<std::vector<BeadShape>> measure_beads(Movie& stack, const Camera& camera, const Spots& beads,
                                                  double sigma_px, int roi_size);

/// Returns, for each slice, the share of beads that `localize` would detect at their centre. A bead counts if the best
/// spot in its window lies at its centre. Far from the focus, spots split into lobes, or are too wide and dim to be
/// found.
std::vector<double> detected_at_centre(Movie& stack, const Camera& camera, const Spots& beads, double sigma_px,
                                       int roi_size);

}  // namespace glint
