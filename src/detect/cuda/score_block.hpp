// What both score kernels share: the place of a block in its frame, and interpolation between background tiles.
// SPDX-License-Identifier: MIT
#pragma once

#include "detect/cuda/kernel_common.hpp"

namespace glint::GLINT_ISA {

/// Common to the score kernels: a block scores `rows` rows of score_columns(radius) columns by separable convolution.
/// First each thread computes the sums of one column, including the filter's radius on both sides, and stores them in
/// shared memory; then the threads sum along the rows. A thread keeps its column's pixels in registers, since adjacent
/// rows share most of them.
template <int R, int rows>
struct ScoreBlock {
    unsigned frame;
    int x, y;  // of the block's first score
    int radius;

    GLINT_DEVICE ScoreBlock(Index index, const FrameLaunch& f, const ScoreLaunch& s) {
        radius = R ? R : s.radius;
        const unsigned across_frame = unsigned((f.width + score_columns(radius) - 1) / score_columns(radius));
        const unsigned down_frame = unsigned((f.height + rows - 1) / rows);
        const unsigned block = index.block / across_frame;
        x = int(index.block % across_frame) * score_columns(radius);
        y = int(block % down_frame) * rows;
        frame = block / down_frame;
    }
    /// The n-th of `kinds` sums of a row in shared memory; adjacent columns are contiguous: no bank conflicts.
    static GLINT_DEVICE float* sums(Scratch scratch, int kinds, int row, int n) {
        return scratch.as<float>() + (row * kinds + n) * int(detect_threads);
    }
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
