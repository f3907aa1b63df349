// The blocks of rows that threads make text or bytes of, while those before them are written.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/in_order.hpp"

namespace glint {

/// Half a megabyte or so: long enough for a thread and for a write, short enough that many threads' stay in the cache.
constexpr std::size_t rows_of_block = 8192;

struct RowBlock {
    std::size_t first = 0, end = 0;
    std::size_t count() const { return end - first; }
};

/// How many blocks `rows` rows are.
inline std::size_t row_blocks(std::size_t rows) { return (rows + rows_of_block - 1) / rows_of_block; }

/// The rows of block `k` of `rows` rows.
inline RowBlock row_block(std::size_t k, std::size_t rows) {
    return {k * rows_of_block, std::min((k + 1) * rows_of_block, rows)};
}

/// `make(block, made)` on any thread, `take(block, made)` in the order of rows, as made_in_order().
template <class Made, class Make, class Take>
void rows_in_order(std::size_t rows, const Make& make, const Take& take) {
    made_in_order<Made>(
        row_blocks(rows), [&](std::size_t k, Made& made) { make(row_block(k, rows), made); },
        [&](std::size_t k, Made& made) { take(row_block(k, rows), made); });
}

}  // namespace glint
