// Blocks of rows, which threads convert to text or bytes while earlier blocks are written.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/in_order.hpp"

namespace glint {

/// Rows of about half a megabyte: enough work for a thread and for a write, and few enough for the blocks of many
/// threads to stay in the cache.
constexpr std::size_t rows_of_block = 8192;

struct RowBlock {
    std::size_t first = 0, end = 0;
    std::size_t count() const { return end - first; }
};

/// Returns the number of blocks of `rows` rows.
inline std::size_t row_blocks(std::size_t rows) { return (rows + rows_of_block - 1) / rows_of_block; }

/// Returns the rows of block `k` if there are `rows` rows.
inline RowBlock row_block(std::size_t k, std::size_t rows) {
    return {k * rows_of_block, std::min((k + 1) * rows_of_block, rows)};
}

/// Calls `make(block, made)` on any thread, and `take(block, made)` in row order, as made_in_order() does.
template <class Made, class Make, class Take>
void rows_in_order(std::size_t rows, const Make& make, const Take& take) {
    made_in_order<Made>(
        row_blocks(rows), [&](std::size_t k, Made& made) { make(row_block(k, rows), made); },
        [&](std::size_t k, Made& made) { take(row_block(k, rows), made); });
}

}  // namespace glint
