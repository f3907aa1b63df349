// Kernel of the score for cameras with the same read noise in all pixels.
// SPDX-License-Identifier: MIT
#pragma once

#include "detect/cuda/kernel_common.hpp"
#include "detect/cuda/score_block.hpp"

namespace glint::GLINT_ISA {

/// Score (eq. 5.6) and narrow filter (eq. 5.7) for uniform read noise. `norms`: for each class of rows (EdgeNorms;
/// `class_of` maps rows to classes) one row each of box_ratio, norm and narrow_norm.
template <int R>
struct UniformScore {
    static constexpr unsigned max_threads = detect_threads;
    static constexpr int rows = uniform_score_rows, kinds = 3;
    using Block = ScoreBlock<R, rows>;

    static GLINT_DEVICE void stage(Index index, Scratch scratch, FrameLaunch f, ScoreLaunch s,
                                   const float* photoelectrons, const float*, const float*, const int*, float*,
                                   float*) {
        const Block block(index, f, s);
        const int column = block.x - block.radius + int(index.thread), t = int(index.thread);
        const bool is_inside = column >= 0 && column < f.width;
        const float* from = photoelectrons + std::size_t(block.frame) * pixels_of(f) + (is_inside ? column : 0);
        const auto pixel = [&](int y) {
            return is_inside && y >= 0 && y < f.height ? from[std::size_t(unsigned(y)) * unsigned(f.width)] : 0.0f;
        };
        const auto put = [&](int row, const DownSums<float>& sums) {
            Block::sums(scratch, kinds, row, 0)[t] = sums.wide;
            Block::sums(scratch, kinds, row, 1)[t] = sums.box;
            Block::sums(scratch, kinds, row, 2)[t] = sums.third;
        };
        if constexpr (R > 0) {
            // A known radius: the window stays in registers, and each pixel is read once for all rows of the block.
            float window[rows + 2 * R];
            GLINT_UNROLL
            for (int k = 0; k < rows + 2 * R; ++k) window[k] = pixel(block.y - R + k);
            GLINT_UNROLL
            for (int row = 0; row < rows; ++row)
                put(row, down<R>([&](int i) { return window[row + R + i]; }, s.wide, s.narrow, R, 3));
        } else {
            for (int row = 0; row < rows; ++row)
                put(row, down<0>([&](int i) { return pixel(block.y + row + i); }, s.wide, s.narrow, block.radius, 3));
        }
    }

    static GLINT_DEVICE void compute(Index index, Scratch scratch, FrameLaunch f, ScoreLaunch s, const float*,
                                     const float* inverse_sigma, const float* norms, const int* class_of, float* score,
                                     float* narrow) {
        const Block block(index, f, s);
        const int column = block.x + int(index.thread), at = int(index.thread) + block.radius;
        if (int(index.thread) >= score_columns(block.radius) || column >= f.width) return;
        const ColumnOfTiles tiles(s.grid, column);
        const float* nodes = inverse_sigma + std::size_t(block.frame) * unsigned(s.grid.columns * s.grid.rows);
        float noise = 0;
        GLINT_UNROLL
        for (int row = 0; row < rows; ++row) {
            const int y = block.y + row;
            if (y >= f.height) return;
            // As on the CPU, some rows share the interpolated noise: the same rounding, hence the same spots.
            if (row % noise_rows == 0) noise = tiles.at(s.grid, nodes, y + noise_rows / 2);
            const float signal = across<R>(Block::sums(scratch, kinds, row, 0) + at, s.wide, block.radius);
            const float flat = box_across<R>(Block::sums(scratch, kinds, row, 1) + at, block.radius);
            const float third = across<3>(Block::sums(scratch, kinds, row, 2) + at, s.narrow, 0);
            const float* by = norms + std::size_t(unsigned(3 * class_of[y])) * unsigned(f.width) + column;
            const std::size_t to =
                std::size_t(block.frame) * pixels_of(f) + unsigned(y) * unsigned(f.width) + unsigned(column);
            score[to] = uniform_score(signal, flat, by[0], by[f.width], noise);
            narrow[to] = third * by[2 * f.width];
        }
    }
};
static_assert(uniform_score_rows % noise_rows == 0);

}  // namespace glint::GLINT_ISA
