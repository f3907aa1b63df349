// DBSCAN on cells.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/cells.hpp"
#include "glint/progress.hpp"

namespace glint {

/// By row, of `rows`: the number of its cluster, -1 for none, as in Clusters::label; -1 for rows without a point. Empty if stopped.
std::vector<std::int32_t> dbscan(const Cells& cells, std::size_t rows, std::size_t min_neighbors, const StopFlag* stop);

}  // namespace glint
