// Estimates the B-spline coefficients of a PSF from the windows of beads.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <vector>

#include "analysis/lens/bead_window.hpp"
#include "analysis/lens/field_terms.hpp"
#include "analysis/lens/spline_grid.hpp"

namespace glint::lens {

struct LearnOptions {
    double knot_nm = 50;                        ///< approximate distance of coefficients along z
    int samples = 1;                            ///< grid points a pixel along x and y: 1 or 2
    int rounds = 8;                             ///< alternations between coefficients and beads
    int iterations = 25;                        ///< conjugate gradients a round
    FieldTerms field = {};                      ///< how the coefficients change over the field
    std::function<void()> finished_round = {};  ///< may throw to stop
};

struct LearntPsf {
    Spline spline;                            ///< the mean over the field
    std::vector<std::vector<float>> changes;  ///< coefficients of the other terms of the field; empty if it has none
    FieldTerms field;
    std::vector<BeadPlace> places;                ///< of each bead; their mean z is 0
    std::vector<std::vector<double>> background;  ///< of each bead and slice, photoelectrons a pixel
    std::vector<double> misfit;                   ///< of each bead: chi-squared a degree of freedom

    /// Returns the PSF at a place of the stacks, px.
    Spline at(double x_px, double y_px) const { return combine(field.at(x_px, y_px)); }
    /// Returns the PSF at the middle of a bead's window.
    Spline at(const BeadWindow& window) const { return combine(field.at(window)); }

  private:
    Spline combine(const std::vector<double>& terms) const;
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
/// With terms of a field, each of them has its own coefficients, and the conventions hold for the PSF at the place of
/// each bead. Light, place and background of a bead hide the same changes of its PSF over the field: what a lens moves
/// sideways looks like another place of the bead.
///
/// The result does not depend on the number of threads.
LearntPsf learn_spline(const std::vector<BeadWindow>& beads, const std::vector<BeadPlace>& start,
                       const LearnOptions& options);

/// Returns the largest sum of h over the window, over z: 1 after learn_spline().
double find_light(const Spline& spline);

/// The range of z that the slices of all windows cover.
struct SliceRange {
    double min_nm, max_nm;
};
SliceRange find_slice_range(const std::vector<BeadWindow>& beads);

}  // namespace glint::lens
