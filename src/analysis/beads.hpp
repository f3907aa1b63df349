// Beads in a z-stack: where they are, and their shape in each slice.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "glint/camera.hpp"
#include "glint/detect.hpp"
#include "glint/movie.hpp"

namespace glint {

/// Finds isolated beads on the sum of all slices. Throws InputError, with what was found instead, when there is none.
Spots find_beads(Movie& stack, const Camera& camera, double sigma_px, int roi_size);

/// One bead in one slice, in pixels.
struct BeadShape {
    double sigma_x = 0, sigma_y = 0, sigma_x_unc = 0, sigma_y_unc = 0;
    /// Elongation along x against y and along one diagonal against the other, from the second moments:
    /// (sxx - syy) / (sxx + syy) and 2 sxy / (sxx + syy). Turning the lens by t turns the pair by 2 t.
    double along_axes = 0, along_diagonals = 0;
};

/// Shapes of those beads that could be measured, slice by slice.
std::vector<std::vector<BeadShape>> measure_beads(Movie& stack, const Camera& camera, const Spots& beads,
                                                  double sigma_px, int roi_size);

}  // namespace glint
