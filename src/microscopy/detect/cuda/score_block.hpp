// Common to both score kernels: the position of a block in its frame, its maxima, and interpolation between background
// tiles.
// SPDX-License-Identifier: MIT
#pragma once

#include "detect/cuda/kernel_common.hpp"

namespace glint::GLINT_ISA {

/// A block searches `rows` rows of score_columns(radius) columns by separable convolution, in four phases:
/// 1. Each thread computes the sums of one column, including margins, and stores them in shared memory. It keeps its
///    column's pixels in registers, since adjacent rows share most of them.
/// 2. The threads sum the narrow filter along the rows, one pixel beyond the block on all sides.
/// 3. Each thread finds the maxima of its column and scores only these (eq. 5.7). For those that reach the threshold,
///    it writes the score and the narrow filter, and sets a bit.
/// 4. The bits are written.
///
/// `kinds`: number of sums in `rows` rows, for the score. `narrow_kinds`: number of sums for the narrow filter, in two
/// more rows.
template <int R, int rows, int kinds, int narrow_kinds>
struct ScoreBlock {
    static constexpr int narrow_rows = rows + 2, narrow_radius_px = 3;
    /// Rows of pixels needed for a radius known at compile time. The first row is `reach` above the block.
    static constexpr int reach = R > narrow_radius_px ? R : narrow_radius_px + 1, window_rows = rows + 2 * reach;

    unsigned frame;
    int x, y;  // of the block's first score
    int radius, margin, columns, strip, strips;

    GLINT_DEVICE ScoreBlock(Index index, const FrameLaunch& f, const ScoreLaunch& s) {
        radius = R ? R : s.radius;
        margin = score_margin(radius), columns = score_columns(radius), strips = score_strips(f.width, radius);
        const unsigned down_frame = unsigned((f.height + rows - 1) / rows), block = index.block / unsigned(strips);
        strip = int(index.block % unsigned(strips)), x = strip * columns;
        y = int(block % down_frame) * rows;
        frame = block / down_frame;
    }

    /// Returns the n-th kind of sums in a row. Adjacent columns are contiguous, so there are no bank conflicts. Column
    /// 0 is `margin` before the block.
    static GLINT_DEVICE float* sums(Scratch scratch, int n, int row) {
        return scratch.as<float>() + (n * rows + row) * int(detect_threads);
    }
    /// The same for the narrow filter. Row 0 is above the block.
    static GLINT_DEVICE float* narrow_sums(Scratch scratch, int n, int row) {
        return sums(scratch, kinds, 0) + (n * narrow_rows + row) * int(detect_threads);
    }
    /// Returns the narrow filter, with the rows of narrow_sums.
    static GLINT_DEVICE float* narrow(Scratch scratch, int row) { return narrow_sums(scratch, narrow_kinds, row); }
    static GLINT_DEVICE unsigned* bits(Scratch scratch) {
        return reinterpret_cast<unsigned*>(narrow_sums(scratch, narrow_kinds + 1, 0));
    }

    /// Phase 2. `value(row, column, at, y)`: narrow filter in a row of narrow_sums, at a pixel of the frame.
    template <class Value>
    GLINT_DEVICE void filter_narrow(Index index, Scratch scratch, const FrameLaunch& f, Value value) const {
        const int at = int(index.thread), column = x - margin + at;
        if (at < rows * words_of_strip) bits(scratch)[at] = 0;
        if (at < margin - 1 || at > margin + columns) return;
        GLINT_UNROLL
        for (int row = 0; row < narrow_rows; ++row) {
            const int line = y - 1 + row;
            const bool is_inside = column >= 0 && column < f.width && line >= 0 && line < f.height;
            narrow(scratch, row)[at] = is_inside ? value(row, at, column, line) : lower_than_any;
        }
    }

    /// Phase 3. `score_at(row, at, column, y)`: score of a pixel of the block.
    template <class Score>
    GLINT_DEVICE void mark(Index index, Scratch scratch, const FrameLaunch& f, float min_score, float* score,
                           float* narrow_filter, Score score_at) const {
        const int at = int(index.thread) + margin, column = x + int(index.thread);
        if (int(index.thread) >= columns || column >= f.width) return;
        unsigned maxima = 0;
        GLINT_UNROLL
        for (int row = 0; row < rows; ++row) {
            const bool is_one =
                is_maximum(narrow(scratch, row) + at, narrow(scratch, row + 1) + at, narrow(scratch, row + 2) + at, 0);
            maxima |= unsigned(is_one && y + row < f.height) << row;
        }
        for (; maxima; maxima &= maxima - 1) {
            const int row = lowest_bit(maxima);
            const float found = score_at(row, at, column, y + row);
            if (!(found >= min_score)) continue;
            const std::size_t to = place_of_maximum(f, frame, unsigned(column), unsigned(y + row));
            score[to] = found;
            narrow_filter[to] = narrow(scratch, row + 1)[at];
            gpu::set_together(bits(scratch)[row * words_of_strip + int(index.thread) / 32], 1u << index.thread % 32);
        }
    }

    /// Phase 4.
    GLINT_DEVICE void write_bits(Index index, Scratch scratch, const FrameLaunch& f, unsigned* marks) const {
        const int row = int(index.thread) / words_of_strip, word = int(index.thread) % words_of_strip;
        if (row >= rows || y + row >= f.height) return;
        const std::size_t line = std::size_t(frame) * unsigned(f.height) + unsigned(y + row);
        marks[(line * unsigned(strips) + unsigned(strip)) * words_of_strip + unsigned(word)] =
            bits(scratch)[int(index.thread)];
    }
    static_assert(rows * words_of_strip <= int(detect_threads));
};

/// Interpolates the values of tiles at row y of one column, with the arithmetic of Background::interpolate.
struct ColumnOfTiles {
    int before, after, offset;  // tiles along x; px from the centre of `before`

    GLINT_DEVICE ColumnOfTiles(const TileGrid& grid, int x) {
        const int half = grid.tile_px / 2, place = x - half;
        before = place < 0 ? 0 : least(place / grid.tile_px, grid.columns - 1);
        after = place < 0 ? 0 : least(before + 1, grid.columns - 1);
        offset = before == after ? 0 : place - before * grid.tile_px;
    }
    GLINT_DEVICE float at(const TileGrid& grid, const float* nodes, int y) const {
        const Between down = between(y, grid.tile_px, grid.rows);
        const float* above = nodes + down.tile * grid.columns;
        const float* below = above + (grid.rows > 1 ? grid.columns : 0);
        const float first = blend(above[before], below[before], down.fraction);
        if (before == after) return first;
        return along(first, blend(above[after], below[after], down.fraction), grid.tile_px, offset);
    }
};

}  // namespace glint::GLINT_ISA
