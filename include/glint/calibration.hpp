// The result of calibrating an astigmatic PSF: measured widths over z, and the fitted curve.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "glint/psf.hpp"

namespace glint {

/// What lies beyond an end of the curve's range.
enum class RangeEnd {
    stack,       ///< nothing: the range contains all slices
    misfit,      ///< slices whose widths the curve misses
    detection,   ///< slices in which spots are not detected at their centre
    unmeasured,  ///< slices in which fewer than half of the beads could be measured
};

/// Widths over z, one value per slice, and the curve fitted to them. z is 0 midway between the two foci, as in the
/// curve.
struct Calibration {
    AstigmaticCurve curve;
    double z_middle_nm = 0;  ///< stage position of the curve's z = 0 (see CalibrateOptions::z_center_nm)
    std::vector<double> z_nm, sigma_x_nm, sigma_y_nm;    ///< medians over beads, per slice, also outside the range
    std::vector<double> sigma_x_unc_nm, sigma_y_unc_nm;  ///< their standard errors
    int beads = 0;
    double rms_residual_nm = 0;  ///< of the measured widths from the curve, within its range
    double max_z_bias_nm = 0;    ///< of z by that misfit (eq. 9.5): the largest running median of five slices
    double rms_z_bias_nm = 0;
    RangeEnd range_below = RangeEnd::stack, range_above = RangeEnd::stack;
    double stack_z_min_nm = 0, stack_z_max_nm = 0;  ///< the first and the last slice, on the scale of the curve
};

}  // namespace glint
