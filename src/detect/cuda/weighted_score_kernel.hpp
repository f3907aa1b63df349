// Kernel of the score for cameras whose pixels differ in read noise or quantum efficiency (sCMOS), and for frames with missing
// pixels.
// SPDX-License-Identifier: MIT
#pragma once

#include "detect/cuda/kernel_common.hpp"
#include "detect/cuda/score_block.hpp"

namespace glint::GLINT_ISA {

/// As UniformScore, with maps of read noise or quantum efficiency (eq. 5.5): seven sums per pixel instead of three, so fewer
/// rows per block fit into shared memory. Missing pixels have no weight. `missing`: of each frame, of which those without any are left
/// as they are; null: all frames. `variance`: null where it is uniform.
template <int R>
struct WeightedScore {
    static constexpr unsigned max_threads = detect_threads;
    static constexpr int rows = weighted_score_rows, kinds = 7;
    using Block = ScoreBlock<R, rows>;

    static GLINT_DEVICE void stage(Index index, Scratch scratch, FrameLaunch f, ScoreLaunch s,
                                   const float* photoelectrons, const float* shot, const float* variance,
                                   const unsigned* missing, float*, float*) {
        const Block block(index, f, s);
        if (missing && missing[block.frame] == 0) return;
        const int column = block.x - block.radius + int(index.thread), t = int(index.thread);
        const bool is_inside = column >= 0 && column < f.width;
        const ColumnOfTiles tiles(s.grid, is_inside ? column : 0);
        const float* nodes = shot + std::size_t(block.frame) * unsigned(s.grid.columns * s.grid.rows);
        const float* from = photoelectrons + std::size_t(block.frame) * pixels_of(f);
        const auto weigh = [&](int y, float& w, float& signal) {
            w = signal = 0;
            if (!is_inside || y < 0 || y >= f.height) return;
            const unsigned pixel = unsigned(y) * unsigned(f.width) + unsigned(column);
            const float light = tiles.at(s.grid, nodes, y);
            // Eq. 5.2. The map of q follows that of v. Outside the frame the weight is 0, which clips the window.
            const float read = variance ? variance[pixel] : f.variance, electrons = from[pixel];
            if (!(electrons == electrons)) return;
            w = weight(f.has_qe ? light / variance[pixels_of(f) + pixel] : light, read, least_variance);
            signal = w * electrons;
        };
        const auto put = [&](int row, const auto& weight_at, const auto& signal_at) {
            const auto weights = down<R>(weight_at, s.wide, s.squared, block.radius, block.radius);
            const auto signal = down<R>(signal_at, s.wide, s.narrow, block.radius, 3);
            const float values[kinds] = {weights.wide,
                                         weights.box,
                                         weights.third,
                                         signal.wide,
                                         signal.box,
                                         signal.third,
                                         down<3>(weight_at, s.narrow, s.narrow, 3, 3).wide};
            GLINT_UNROLL
            for (int n = 0; n < kinds; ++n) Block::sums(scratch, kinds, row, n)[t] = values[n];
        };
        if constexpr (R > 0) {
            float w[rows + 2 * R], we[rows + 2 * R];
            GLINT_UNROLL
            for (int k = 0; k < rows + 2 * R; ++k) weigh(block.y - R + k, w[k], we[k]);
            GLINT_UNROLL
            for (int row = 0; row < rows; ++row)
                put(
                    row, [&](int i) { return w[row + R + i]; }, [&](int i) { return we[row + R + i]; });
        } else {
            const auto value = [&](int y, bool signal) {
                float w, we;
                weigh(y, w, we);
                return signal ? we : w;
            };
            for (int row = 0; row < rows; ++row)
                put(
                    row, [&](int i) { return value(block.y + row + i, false); },
                    [&](int i) { return value(block.y + row + i, true); });
        }
    }

    static GLINT_DEVICE void compute(Index index, Scratch scratch, FrameLaunch f, ScoreLaunch s, const float*,
                                     const float*, const float*, const unsigned* missing, float* score, float* narrow) {
        const Block block(index, f, s);
        if (missing && missing[block.frame] == 0) return;
        const int column = block.x + int(index.thread), at = int(index.thread) + block.radius, radius = block.radius;
        if (int(index.thread) >= score_columns(radius) || column >= f.width) return;
        GLINT_UNROLL
        for (int row = 0; row < rows; ++row) {
            const int y = block.y + row;
            if (y >= f.height) return;
            const auto sums = [&](int n) { return Block::sums(scratch, kinds, row, n) + at; };
            // The sums A, B, C, P and Q of eq. 5.3, then eq. 5.5.
            const float a = across<R>(sums(0), s.wide, radius), b = box_across<R>(sums(1), radius);
            const float c = across<R>(sums(2), s.squared, radius);
            const float p = across<R>(sums(3), s.wide, radius), q = box_across<R>(sums(4), radius);
            const std::size_t to =
                std::size_t(block.frame) * pixels_of(f) + unsigned(y) * unsigned(f.width) + unsigned(column);
            score[to] = weighted_score(a, b, c, p, q);
            narrow[to] = across<3>(sums(5), s.narrow, 0) / across<3>(sums(6), s.narrow, 0);
        }
    }
};

}  // namespace glint::GLINT_ISA
