// The astigmatic curve through measured widths.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "glint/psf.hpp"

namespace glint {

/// Widths at the z of a stage; structure of arrays, micrometres.
struct WidthsOverZ {
    std::vector<double> z, sigma_x, sigma_y, sigma_x_unc, sigma_y_unc;
};

struct AstigmaticFit {
    AstigmaticCurve curve;  ///< about the middle of the foci; its range is that of the data
    double z_middle_um = 0;
    double rms_residual_um = 0;
};

/// Weighted least squares by Levenberg and Marquardt. Needs at least 5 slices; at 7 and more the asymmetries Ax, Bx,
/// Ay, By are free too.
AstigmaticFit fit_astigmatic_curve(const WidthsOverZ& widths);

}  // namespace glint
