// Kernel from the bitmap of maxima to each frame's list of spots.
// SPDX-License-Identifier: MIT
#pragma once

#include "detect/cuda/kernel_common.hpp"

namespace glint::GLINT_ISA {

/// Lists each frame's maxima in order of row and column, as pixel indices, with a prefix sum over the bitmap's words. A
/// saturated area is a plateau of exactly equal values with a maximum at each corner. All but the first are marked as
/// dropped; the others are counted. Excludes noise samples near the listed spots. One block per frame.
struct ListMaxima {
    static constexpr unsigned max_threads = list_threads, together = listed_together;
    static constexpr int phases = 5;
    struct PerThread {
        unsigned before;  // number of maxima of the threads before this one
    };

    static GLINT_DEVICE unsigned ones(unsigned bits) {
#ifdef __CUDACC__
        return unsigned(__popc(int(bits)));
#else
        return unsigned(__builtin_popcount(bits));
#endif
    }

    static GLINT_DEVICE bool is_plateau_of_earlier(const FrameLaunch& f, unsigned frame, const float* narrow,
                                                   const unsigned* list, unsigned k, int reach) {
        const unsigned width = unsigned(f.width), pixel = list[k];
        const float mine = narrow[place_of_maximum(f, frame, pixel)];
        const int x = int(pixel % width), y = int(pixel / width);
        for (unsigned q = k; q-- > 0;) {
            const int dx = int(list[q] % width) - x;
            if (y - int(list[q] / width) > reach) return false;  // rows are in order: all others are farther away
            if (dx <= reach && -dx <= reach && narrow[place_of_maximum(f, frame, list[q])] == mine) return true;
        }
        return false;
    }

    static GLINT_DEVICE void leave_out(const NoiseGrid& grid, int x, int y, float* observed) {
        const GridRange columns = samples_near(x, grid.spot_radius_px, grid.step_px, grid.columns);
        const GridRange rows = samples_near(y, grid.spot_radius_px, grid.step_px, grid.rows);
        for (int row = rows.first; row < rows.end; ++row)
            for (int column = columns.first; column < columns.end; ++column)
                observed[row * grid.columns + column] = not_a_number();
    }

    static GLINT_DEVICE void phase(int phase, PerThread& own, Index index, Scratch scratch, FrameLaunch f, ListLaunch l,
                                   NoiseGrid grid, const unsigned* marks, const float* narrow, unsigned* list,
                                   unsigned* found, unsigned char* keep, unsigned* kept, float* observed) {
        unsigned *counts = scratch.as<unsigned>(), *sums = counts + index.block_dim;
        const unsigned words_of_row = unsigned(score_strips(f.width, l.radius)) * words_of_strip,
                       words = words_of_row * unsigned(f.height);
        const ItemRange mine = items_of_thread(index, words);
        const unsigned* bitmap = marks + std::size_t(index.block) * words;
        unsigned* of_frame = list + std::size_t(index.block) * l.capacity;
        unsigned char* kept_ones = keep + std::size_t(index.block) * l.capacity;
        switch (phase) {
            case 0: {
                unsigned count = 0;
                for (unsigned k = mine.first; k < mine.end; ++k) count += ones(bitmap[k]);
                counts[index.thread] = count;
                return;
            }
            case 1: {
                // Two steps: within groups of `together` threads, then over the groups.
                const unsigned first = index.thread / together * together;
                for (unsigned t = first; t < index.thread; ++t) own.before += counts[t];
                if (index.thread % together == together - 1)
                    sums[index.thread / together] = own.before + counts[index.thread];
                return;
            }
            case 2: {
                for (unsigned t = 0; t < index.thread / together; ++t) own.before += sums[t];
                unsigned to = own.before;
                for (unsigned k = mine.first; k < mine.end; ++k) {
                    const unsigned word = k % words_of_row,
                                   pixel = k / words_of_row * unsigned(f.width) +
                                           word / words_of_strip * unsigned(score_columns(l.radius)) +
                                           word % words_of_strip * 32;
                    unsigned bits = bitmap[k];
                    for (; bits; bits &= bits - 1) of_frame[to++] = pixel + unsigned(lowest_bit(bits));
                }
                if (index.thread + 1 == index.block_dim) found[index.block] = to;
                return;
            }
            case 3: {
                unsigned count = 0;
                for (unsigned k = index.thread; k < found[index.block]; k += index.block_dim) {
                    const bool is_kept = !is_plateau_of_earlier(f, index.block, narrow, of_frame, k, l.plateau_reach);
                    kept_ones[k] = is_kept;
                    if (!is_kept) continue;
                    ++count;
                    leave_out(grid, int(of_frame[k] % unsigned(f.width)), int(of_frame[k] / unsigned(f.width)),
                              observed + std::size_t(index.block) * unsigned(grid.columns * grid.rows));
                }
                counts[index.thread] = count;
                return;
            }
            default:
                if (index.thread > 0) return;
                unsigned sum = 0;
                for (unsigned t = 0; t < index.block_dim; ++t) sum += counts[t];
                kept[index.block] = sum;
        }
    }
};

}  // namespace glint::GLINT_ISA
