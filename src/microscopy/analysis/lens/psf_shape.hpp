// What the sections of a PSF show about the beads: motion along x and y, and two beads in each window.
// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/lens/spline_grid.hpp"

namespace glint::lens {

/// The motion of the centre of light with z.
struct LateralShift {
    double x_px_per_um = 0, y_px_per_um = 0;
};

/// Fits a straight line to the centroids of max(h, 0)^1.5 over a range of z.
LateralShift measure_shift(const Spline& spline, double z_min_nm, double z_max_nm);

/// The distance of two separate maxima that neither turn nor move against each other over z, px. Such are two beads in
/// each window, from about 2.5 standard deviations of a spot apart. Lobes of a lens turn, as a double helix, or
/// separate. 0 if there are none in an eighth of the range, or only out of focus.
double find_fixed_lobes(const Spline& spline, double z_min_nm, double z_max_nm);

}  // namespace glint::lens
