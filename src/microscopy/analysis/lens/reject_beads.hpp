// Rejects beads that differ from the others, by the PSF that was estimated from all.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "analysis/lens/bead_set.hpp"
#include "analysis/lens/find_beads.hpp"
#include "analysis/lens/learn_spline.hpp"

namespace glint::lens {

/// Returns about 15 slices of each bead, as pairs of bead and slice.
std::vector<std::pair<std::size_t, std::size_t>> sample_slices(const BeadSet& beads);

/// Removes beads whose images do not fit, and writes the reason to their candidates. Returns whether there were any.
bool reject_misfits(const LearntPsf& learnt, std::vector<BeadCandidate>& candidates, BeadSet& beads);

/// The same for beads that move through the stack. The mean motion of all beads belongs to the PSF.
bool reject_drifts(const LearntPsf& learnt, std::vector<BeadCandidate>& candidates, BeadSet& beads);

}  // namespace glint::lens
