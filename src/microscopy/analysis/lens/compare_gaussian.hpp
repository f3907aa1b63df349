// Compares a measured PSF with the astigmatic Gaussian, on beads that neither was estimated from.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "analysis/lens/bead_set.hpp"
#include "analysis/lens/held_out.hpp"
#include "glint/calibrate_psf.hpp"

namespace glint::lens {

/// Fits the slices of `held_out` within the usable range by AstigmaticXYZNB, whose curve is from the other half of the
/// beads. Window, usable range and pixel size are those of `found`. Empty if the window is too large for fit(), if
/// there are too few slices for a curve, or if no curve describes the widths.
std::optional<PsfGaussianErrors> compare_gaussian(const BeadSet& beads, const HeldOut& held_out,
                                                  const PsfCalibration& found);

}  // namespace glint::lens
