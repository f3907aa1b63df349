// Beads in a z-stack: positions, and shape in each slice.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "glint/camera.hpp"
#include "glint/detect.hpp"
#include "glint/movie.hpp"

namespace glint {

/// Finds isolated beads on the sum of all slices. Throws InputError, which says what was found, if there is none.
Spots find_beads(Movie& stack, const Camera& camera, double sigma_px, int roi_size);

/// One bead in one slice, in pixels.
struct BeadShape {
    double sigma_x = 0, sigma_y = 0, sigma_x_unc = 0, sigma_y_unc = 0;
    /// Elongation along x versus y, and along one diagonal versus the other, from second moments (eq. 9.3):
    /// (sxx - syy) / (sxx + syy) and 2 sxy / (sxx + syy). Rotating the lens by t rotates the pair by 2 t.
    double along_axes = 0, along_diagonals = 0;
};

/// The measured shapes, slice by slice; beads whose fit failed are omitted.
std::vector<std::vector<BeadShape>> measure_beads(Movie& stack, const Camera& camera, const Spots& beads,
                                                  double sigma_px, int roi_size);

}  // namespace glint
