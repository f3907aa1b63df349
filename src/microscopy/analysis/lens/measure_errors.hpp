// Tests a PSF on data that it was not estimated from.
// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/lens/bead_set.hpp"
#include "analysis/lens/learn_spline.hpp"
#include "glint/calibrate_psf.hpp"

namespace glint::lens {

/// Sets the errors in `out`, whose table is set already: window of the fits, bins of z, usable range, summary,
/// and the comparison with a Gaussian.
/// `spline`: the PSF from all beads, with the grid `options`. `z_step_nm`: distance of slices in the table's z. Returns
/// false if z is determined nowhere; range and summary are then not set.
bool measure_errors(const BeadSet& beads, const LearnOptions& options, const Spline& spline, double z_step_nm,
                    PsfCalibration& out);

}  // namespace glint::lens
