// Estimates the B-spline coefficients of a PSF without z from windows around spots.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/lens/spline_grid.hpp"
#include "glint/rois.hpp"

namespace glint::lens {

/// A spot's position, from the middle of its window, and light.
struct SpotPlace {
    double x_px = 0, y_px = 0, photons = 0;
    bool is_used = true;
};

/// Returns one plane of coefficients, grid.plane(), by penalised least squares over all pixels of the used spots.
/// Pixels have the weight 1 / variance of eq. 2.2, with the means of `model` (photoelectrons, as rois.pixels). Each
/// spot has a free background. `before`: the coefficients of the round before, from which the penalty follows; empty:
/// none, then the penalty is that of a constant. Their fourth differences are expected to be a share of the
/// coefficients, since a lens transmits no such detail. The result does not depend on the number of threads.
std::vector<double> solve_flat_spline(const SplineGrid& grid, const Rois& rois, const std::vector<SpotPlace>& spots,
                                      const std::vector<float>& model, const std::vector<double>& before);

/// Returns h in the pixels of a window, for a molecule at (x_px, y_px) from its middle.
std::vector<double> draw_flat_spline(const SplineGrid& grid, const std::vector<double>& coefficients, double x_px,
                                     double y_px);

}  // namespace glint::lens
