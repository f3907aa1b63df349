// The result of calibrating an astigmatic PSF: measured widths over z, and the fitted curve.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "glint/psf.hpp"

namespace glint {

/// Widths over z, one value per slice, and the curve fitted to them. z is 0 midway between the two foci, as in the
/// curve.
struct Calibration {
    AstigmaticCurve curve;
    double z_middle_um = 0;  ///< stage position of the curve's z = 0 (see CalibrateOptions::z_center_nm)
    std::vector<double> z_um, sigma_x_um, sigma_y_um;    ///< medians over beads, per slice
    std::vector<double> sigma_x_unc_um, sigma_y_unc_um;  ///< their standard errors
    int beads = 0;
    double rms_residual_um = 0;  ///< of the measured widths from the curve
};

}  // namespace glint
