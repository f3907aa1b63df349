// Estimates the B-spline coefficients of a PSF from the windows of beads.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <vector>

#include "analysis/lens/bead_window.hpp"
#include "analysis/lens/spline_grid.hpp"

namespace glint::lens {

struct LearnOptions {
    double knot_nm = 50;                        ///< approximate distance of coefficients along z
    int samples = 1;                            ///< grid points a pixel along x and y: 1 or 2
    int rounds = 8;                             ///< alternations between coefficients and beads
    int iterations = 25;                        ///< conjugate gradients a round
    std::function<void()> finished_round = {};  ///< may throw to stop
};

struct LearntPsf {
    Spline spline;
    std::vector<BeadPlace> places;                ///< of each bead; their mean z is 0
    std::vector<std::vector<double>> background;  ///< of each bead and slice, photoelectrons a pixel
    std::vector<double> misfit;                   ///< of each bead: chi-squared a degree of freedom
};

/// Alternates two steps:
///
/// - The coefficients by penalised least squares over all pixels, with weights 1 / variance and a free background for
///   each bead and slice.
/// - x, y, z and photons of each bead by one Gauss-Newton step, again with free backgrounds.
///
/// All windows have the same size, and `start` has an approximate position for each of them. The result is
/// normalised:
///
/// - The mean of h over the window's border is 0 at each z, since the backgrounds absorb a constant.
/// - The sum of h over the window of a molecule in the middle of a pixel is 1 at the z of its maximum.
/// - The middle of the grid is the centroid of max(h, 0)^1.5 over all z.
///
/// The result does not depend on the number of threads.
LearntPsf learn_spline(const std::vector<BeadWindow>& beads, const std::vector<BeadPlace>& start,
                       const LearnOptions& options);

/// The range of z that the slices of all windows cover.
struct SliceRange {
    double min_nm, max_nm;
};
SliceRange find_slice_range(const std::vector<BeadWindow>& beads);

}  // namespace glint::lens
