// What a z-stack of beads tells about an astigmatic PSF.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "glint/psf.hpp"

namespace glint {

/// Widths over z, and the curve through them. z is 0 midway between the two foci, as the curve wants it.
struct Calibration {
    AstigmaticCurve curve;
    double z_middle_um = 0;  ///< z of the curve's 0 on the scale of the stage (CalibrateOptions::z_center_nm)
    std::vector<double> z_um, sigma_x_um, sigma_y_um;    ///< medians over beads, per slice
    std::vector<double> sigma_x_unc_um, sigma_y_unc_um;  ///< their standard errors
    int beads = 0;
    double rms_residual_um = 0;  ///< of the widths about the curve
};

}  // namespace glint
