// Fits the astigmatic curve to measured widths (docs/theory.md, section 9).
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "glint/psf.hpp"

namespace glint {

/// Widths at stage positions z; structure of arrays, micrometres.
struct WidthsOverZ {
    std::vector<double> z, sigma_x, sigma_y, sigma_x_unc, sigma_y_unc;
};

struct AstigmaticFit {
    AstigmaticCurve curve;  ///< z = 0 midway between the foci; its range is that of the data
    double z_middle_um = 0;
    double rms_residual_um = 0;
    /// The depth by the widths near the foci alone (without Ax, Bx, Ay, By). The curve's depth is at most three times as
    /// large or small: larger powers of u could otherwise replace it.
    double parabola_depth_um = 0;
};

/// Weighted least squares by Levenberg-Marquardt, from `start` if there is one. Needs at least 5 slices; from 7 on, Ax,
/// Bx, Ay and By are fitted, too.
AstigmaticFit fit_astigmatic_curve(const WidthsOverZ& widths, const AstigmaticFit* start = nullptr);

}  // namespace glint
