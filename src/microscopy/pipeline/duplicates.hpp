// Fits that ended on the same molecule.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "glint/localizations.hpp"

namespace glint {

/// Removes from `keep` (row numbers; rows of a frame together) each row that lies within `radius_px` of a row of the
/// same frame with a higher detection score. Neighbouring maxima of one blurred spot are fitted apart but can
/// end on the same maximum of the likelihood. Returns how many were removed; the order stays.
std::size_t drop_duplicates(const Localizations& rows, double radius_px, std::vector<std::size_t>& keep);

}  // namespace glint
