// Counts the neighbours of each localization.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "glint/progress.hpp"
#include "glint/table_pieces.hpp"

namespace glint::conditions {

/// For each row the number of other rows, of any frame, whose x and y are within `radius_px`. Rows whose position is not finite have
/// and are none. By cells of a grid, in parallel: O(n) times the rows in a few cells. Throws Cancelled after `stop`.
std::vector<std::uint32_t> count_neighbors(TablePieces& table, double radius_px, const StopFlag* stop);

}  // namespace glint::conditions
