// Images of a bead through its middle, beside those of the PSF.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/lens/bead_window.hpp"
#include "analysis/lens/spline_grid.hpp"
#include "glint/calibrate_psf.hpp"

namespace glint::lens {

/// Leaves out slices that the spline does not cover. `background`: of each slice, which the weights are computed with.
/// xy is the slice whose z is nearest to `z_nm`.
PsfBeadSections cut_sections(const BeadWindow& window, const BeadPlace& place, const std::vector<double>& background,
                             const Spline& spline, double z_nm);

}  // namespace glint::lens
