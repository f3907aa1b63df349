// Kernel of the score and its maxima for cameras whose pixels differ in read noise or quantum efficiency (sCMOS), and
// for frames with missing pixels.
// SPDX-License-Identifier: MIT
#pragma once

#include "detect/cuda/kernel_common.hpp"
#include "detect/cuda/score_block.hpp"

namespace glint::GLINT_ISA {

/// Like UniformScore, with maps of read noise or quantum efficiency (eq. 5.5). It has seven sums per pixel instead of
/// three, so fewer rows per block fit into shared memory. Missing pixels have no weight and, like those outside the
/// frame, are lower than any value.
/// - `missing`: number of missing pixels of each frame; null if no frame has any.
/// - `only_missing`: skips frames without missing pixels.
/// - `variance`: null if it is uniform.
template <int R>
struct WeightedScore {
    static constexpr unsigned max_threads = detect_threads;
    static constexpr int phases = 4, rows = weighted_score_rows;
    using Area = ScoreBlock<R, rows, weighted_sums.wide, weighted_sums.narrow>;
    struct PerThread {};

    static GLINT_DEVICE void sum_columns(const Area& block, Index index, Scratch scratch, const FrameLaunch& f,
                                         const ScoreLaunch& s, const float* photoelectrons, const float* shot,
                                         const float* variance) {
        const int t = int(index.thread), column = block.x - block.margin + t;
        const bool is_inside = column >= 0 && column < f.width;
        const ColumnOfTiles tiles(s.grid, is_inside ? column : 0);
        const float* nodes = shot + std::size_t(block.frame) * unsigned(s.grid.columns * s.grid.rows);
        const float* from = photoelectrons + std::size_t(block.frame) * pixels_of(f);
        const auto weigh = [&](int y, float& w, float& signal) {
            w = signal = 0;
            if (!is_inside || y < 0 || y >= f.height) return;
            const unsigned pixel = unsigned(y) * unsigned(f.width) + unsigned(column);
            const float light = tiles.at(s.grid, nodes, y);
            // Eq. 5.2. The map of q follows the map of v. Outside the frame the weight is 0, which clips the window.
            const float read = variance ? variance[pixel] : f.variance, electrons = from[pixel];
            if (!(electrons == electrons)) return;
            w = weight(f.has_qe ? light / variance[pixels_of(f) + pixel] : light, read, min_variance);
            signal = w * electrons;
        };
        const auto put_narrow = [&](int row, const auto& weight_at, float signal) {
            Area::narrow_sums(scratch, 0, row + 1)[t] = signal;
            Area::narrow_sums(scratch, 1, row + 1)[t] = down<3>(weight_at, s.narrow, s.narrow, 3, 3).wide;
        };
        const auto put = [&](int row, const auto& weight_at, const auto& signal_at) {
            const auto weights = down<R>(weight_at, s.wide, s.squared, block.radius, block.radius);
            const auto signal = down<R>(signal_at, s.wide, s.narrow, block.radius, 3);
            Area::sums(scratch, 0, row)[t] = weights.wide;
            Area::sums(scratch, 1, row)[t] = weights.box;
            Area::sums(scratch, 2, row)[t] = weights.third;
            Area::sums(scratch, 3, row)[t] = signal.wide;
            Area::sums(scratch, 4, row)[t] = signal.box;
            put_narrow(row, weight_at, signal.third);
        };
        const auto put_all = [&](const auto& weights_around, const auto& signals_around) {
            GLINT_UNROLL
            for (int row = 0; row < rows; ++row) put(row, weights_around(row), signals_around(row));
            for (const int row : {-1, rows})
                put_narrow(row, weights_around(row), down<3>(signals_around(row), s.narrow, s.narrow, 3, 3).wide);
        };
        if constexpr (R > 0) {
            float w[Area::window_rows], we[Area::window_rows];
            GLINT_UNROLL
            for (int k = 0; k < Area::window_rows; ++k) weigh(block.y - Area::reach + k, w[k], we[k]);
            put_all([&](int row) { return [&w, row](int i) { return w[row + Area::reach + i]; }; },
                    [&](int row) { return [&we, row](int i) { return we[row + Area::reach + i]; }; });
        } else {
            const auto value = [&](int y, bool signal) {
                float w, we;
                weigh(y, w, we);
                return signal ? we : w;
            };
            put_all([&](int row) { return [&, row](int i) { return value(block.y + row + i, false); }; },
                    [&](int row) { return [&, row](int i) { return value(block.y + row + i, true); }; });
        }
    }

    static GLINT_DEVICE void phase(int phase, PerThread&, Index index, Scratch scratch, FrameLaunch f, ScoreLaunch s,
                                   const float* photoelectrons, const float* shot, const float* variance,
                                   const unsigned* missing, int only_missing, const float* min_score, float* score,
                                   float* narrow, unsigned* marks) {
        const Area block(index, f, s);
        const bool may_miss = missing && missing[block.frame] > 0;
        if (only_missing && !may_miss) return;
        if (phase == 0) return sum_columns(block, index, scratch, f, s, photoelectrons, shot, variance);
        if (phase == 1)
            return block.filter_narrow(index, scratch, f, [&](int row, int at, int column, int y) {
                const float value = across<3>(Area::narrow_sums(scratch, 0, row) + at, s.narrow, 0) /
                                    across<3>(Area::narrow_sums(scratch, 1, row) + at, s.narrow, 0);
                if (!may_miss) return value;
                const float here = photoelectrons[std::size_t(block.frame) * pixels_of(f) +
                                                  unsigned(y) * unsigned(f.width) + unsigned(column)];
                return here == here ? value : lower_than_any;
            });
        if (phase == 2)
            return block.mark(index, scratch, f, min_score[block.frame], score, narrow, [&](int row, int at, int, int) {
                const auto sums = [&](int n) { return Area::sums(scratch, n, row) + at; };
                const int radius = block.radius;
                // The sums A, B, C, P and Q of eq. 5.3, then eq. 5.5.
                const float a = across<R>(sums(0), s.wide, radius), b = box_across<R>(sums(1), radius);
                const float c = across<R>(sums(2), s.squared, radius);
                const float p = across<R>(sums(3), s.wide, radius), q = box_across<R>(sums(4), radius);
                return weighted_score(a, b, c, p, q);
            });
        block.write_bits(index, scratch, f, marks);
    }
};

}  // namespace glint::GLINT_ISA
