// Chooses the distance of knots and the grid points a pixel by the likelihood of data that were left out.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/lens/bead_window.hpp"
#include "analysis/lens/held_out.hpp"
#include "analysis/lens/learn_spline.hpp"

namespace glint::lens {

/// Returns approximately the deviance at the slice's known place: that of the fit, and what moving the fit there adds.
/// A fit hides errors of the PSF by a wrong x, y or z.
double deviance_at_place(const HeldOutFit& held_out);

/// Returns `options` with the chosen knots and samples. Another grid than the default (50 nm, 1 point a pixel) is
/// chosen only if it lowers the deviance of the same held-out slices by more than twice the standard error of the
/// difference. The deviance is that at the slice's known place, since a fit hides errors of the PSF by a wrong place.
/// `z_step_nm`: distance of slices in the table's z.
LearnOptions choose_grid(const std::vector<BeadWindow>& beads, const std::vector<BeadPlace>& start,
                         const LearnOptions& options, double z_step_nm);

}  // namespace glint::lens
