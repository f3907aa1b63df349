// The result of calibrating an astigmatic PSF: measured widths over z, and the fitted curve.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "glint/psf.hpp"

namespace glint {

/// The reason why the range of the curve ends at one side.
enum class RangeEnd {
    stack,       ///< the stack ends there: the range contains all slices
    misfit,      ///< further slices have widths that the curve misses
    detection,   ///< in further slices, spots are not detected at their centre
    unmeasured,  ///< in further slices, fewer than half of the beads could be measured
};

/// The result of calibrate_astigmatism(): widths over z, one value per measured slice, and the curve fitted to them.
/// z is in nm and 0 midway between the two foci, as in the curve.
struct Calibration {
    AstigmaticCurve curve;
    double z_middle_nm = 0;  ///< stage position of the curve's z = 0 (see CalibrateOptions::z_center_nm)
    std::vector<double> z_nm, sigma_x_nm, sigma_y_nm;    ///< medians over beads, per slice, also outside the range
    std::vector<double> sigma_x_unc_nm, sigma_y_unc_nm;  ///< standard errors of the medians
    int beads = 0;                                       ///< beads that were measured
    double rms_residual_nm = 0;                          ///< of the measured widths from the curve, within its range
    /// Shift of z by the curve's misfit, within its range (eq. 9.5): maximum of the running median over five slices.
    double max_z_bias_nm = 0;
    double rms_z_bias_nm = 0;  ///< root mean square of that shift
    RangeEnd range_below = RangeEnd::stack, range_above = RangeEnd::stack;
    double stack_z_min_nm = 0, stack_z_max_nm = 0;  ///< z of the lowest and the highest slice, on the curve's scale
};

}  // namespace glint
