// Chooses how a PSF changes over the field, by the likelihood of beads that were left out.
// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/lens/bead_set.hpp"
#include "analysis/lens/learn_spline.hpp"
#include "glint/calibrate_psf.hpp"

namespace glint::lens {

/// Each term of the field needs at least so many beads: one half of the beads must determine all of them.
inline constexpr int beads_per_term = 4;
static_assert(CalibratePsfOptions::min_field_beads == 3 * beads_per_term);

/// Returns the terms of that degree, or of the highest one that so many beads determine.
FieldTerms limit_terms(const BeadSet& beads, int degree);

/// Compares no change, a plane and a parabola over the field. A higher degree is chosen only if it lowers the deviance
/// of the same held-out slices by more than twice the standard error of the difference over the beads. Sets
/// options.field. The deviance is that at the slice's known place.
PsfFieldFit choose_field(const BeadSet& beads, LearnOptions& options);

}  // namespace glint::lens
