// Whether the images of beads change with their place in the field.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "analysis/lens/bead_set.hpp"
#include "analysis/lens/learn_spline.hpp"

namespace glint::lens {

/// What a plane over the field explains of the beads' residuals.
struct FieldChange {
    double share = 0;   ///< rms over beads, of the rms of h; without what chance explains
    double chance = 1;  ///< share of random exchanges of the beads' places that explain as much
};

/// Fits a plane over the field to each pixel of the beads' mean residuals, in three parts of the range of z. Compares
/// what it explains with 199 random exchanges of the beads' places. A change of 0 with fewer than 7 beads, or if they
/// lie on a line. `learnt`: from `beads`.
FieldChange measure_field_change(const BeadSet& beads, const LearntPsf& learnt);

/// A warning if the PSF changes over the field; else empty. `has_terms`: beyond the polynomials that it has already.
std::string doubt_field(const FieldChange& change, bool has_terms);

}  // namespace glint::lens
