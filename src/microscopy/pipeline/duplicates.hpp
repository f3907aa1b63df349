// Fits that ended on the same molecule.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "glint/localizations.hpp"

namespace glint {

/// Removes from `keep` each row that lies within `radius_px` of a row of the same frame with a higher detection score.
/// `keep` contains row numbers, with the rows of a frame together, and stays in order. Returns the number of removed
/// rows. Neighbouring maxima of one blurred spot are fitted separately but can converge to the same maximum of the
/// likelihood.
std::size_t drop_duplicates(const Localizations& rows, double radius_px, std::vector<std::size_t>& keep);

}  // namespace glint
