// Kernel of the score and its maxima for cameras with the same read noise in all pixels.
// SPDX-License-Identifier: MIT
#pragma once

#include "detect/cuda/kernel_common.hpp"
#include "detect/cuda/score_block.hpp"

namespace glint::GLINT_ISA {

/// Finds maxima of the narrow filter whose score reaches the threshold (eq. 5.6 and 5.7), for uniform read noise.
/// `norms` has three rows for each class of rows: box_ratio, norm and narrow_norm of EdgeNorms. `class_of` maps rows to
/// classes.
template <int R>
struct UniformScore {
    static constexpr unsigned max_threads = detect_threads;
    static constexpr int phases = 4, rows = uniform_score_rows;
    using Area = ScoreBlock<R, rows, uniform_sums.wide, uniform_sums.narrow>;
    struct PerThread {};

    static GLINT_DEVICE void sum_columns(const Area& block, Index index, Scratch scratch, const FrameLaunch& f,
                                         const ScoreLaunch& s, const float* photoelectrons) {
        const int t = int(index.thread), column = block.x - block.margin + t;
        const bool is_inside = column >= 0 && column < f.width;
        const float* from = photoelectrons + std::size_t(block.frame) * pixels_of(f) + (is_inside ? column : 0);
        const auto pixel = [&](int y) {
            return is_inside && y >= 0 && y < f.height ? from[std::size_t(unsigned(y)) * unsigned(f.width)] : 0.0f;
        };
        const auto put = [&](int row, const DownSums<float>& sums) {
            Area::sums(scratch, 0, row)[t] = sums.wide;
            Area::sums(scratch, 1, row)[t] = sums.box;
            Area::narrow_sums(scratch, 0, row + 1)[t] = sums.third;
        };
        const auto put_narrow = [&](int row, const auto& at) {
            Area::narrow_sums(scratch, 0, row + 1)[t] = down<3>(at, s.narrow, s.narrow, 3, 3).wide;
        };
        if constexpr (R > 0) {
            float window[Area::window_rows];
            GLINT_UNROLL
            for (int k = 0; k < Area::window_rows; ++k) window[k] = pixel(block.y - Area::reach + k);
            const auto around = [&](int row) {
                return [&window, row](int i) { return window[row + Area::reach + i]; };
            };
            GLINT_UNROLL
            for (int row = 0; row < rows; ++row) put(row, down<R>(around(row), s.wide, s.narrow, R, 3));
            put_narrow(-1, around(-1)), put_narrow(rows, around(rows));
        } else {
            const auto around = [&](int row) { return [&, row](int i) { return pixel(block.y + row + i); }; };
            for (int row = 0; row < rows; ++row) put(row, down<0>(around(row), s.wide, s.narrow, block.radius, 3));
            put_narrow(-1, around(-1)), put_narrow(rows, around(rows));
        }
    }

    static GLINT_DEVICE void phase(int phase, PerThread&, Index index, Scratch scratch, FrameLaunch f, ScoreLaunch s,
                                   const float* photoelectrons, const float* inverse_noise, const float* norms,
                                   const int* class_of, const float* min_score, float* score, float* narrow,
                                   unsigned* marks) {
        const Area block(index, f, s);
        if (phase == 0) return sum_columns(block, index, scratch, f, s, photoelectrons);
        const auto norm = [&](int n, int column, int y) {
            return norms[std::size_t(unsigned(3 * class_of[y] + n)) * unsigned(f.width) + unsigned(column)];
        };
        if (phase == 1)
            return block.filter_narrow(index, scratch, f, [&](int row, int at, int column, int y) {
                return across<3>(Area::narrow_sums(scratch, 0, row) + at, s.narrow, 0) * norm(2, column, y);
            });
        if (phase == 2) {
            const ColumnOfTiles tiles(s.grid, block.x + int(index.thread));
            const float* nodes = inverse_noise + std::size_t(block.frame) * unsigned(s.grid.columns * s.grid.rows);
            return block.mark(
                index, scratch, f, min_score[block.frame], score, narrow, [&](int row, int at, int column, int y) {
                    const float signal = across<R>(Area::sums(scratch, 0, row) + at, s.wide, block.radius);
                    const float flat = box_across<R>(Area::sums(scratch, 1, row) + at, block.radius);
                    // As on the CPU, a few rows share the interpolated noise. Equal rounding gives the same spots.
                    const float noise = tiles.at(s.grid, nodes, y / noise_rows * noise_rows + noise_rows / 2);
                    return uniform_score(signal, flat, norm(0, column, y), norm(1, column, y), noise);
                });
        }
        block.write_bits(index, scratch, f, marks);
    }
};
static_assert(uniform_score_rows % noise_rows == 0);

}  // namespace glint::GLINT_ISA
