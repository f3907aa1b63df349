// Kernels of the noise check (docs/theory.md, eq. 5.9). The spread of all samples sets the threshold; once the spots are
// known, it is measured again without the samples near them.
// SPDX-License-Identifier: MIT
#pragma once

#include "detect/cuda/kernel_common.hpp"

namespace glint::GLINT_ISA {

/// Samples the noise (eq. 5.9): observed variance, NaN for an unusable sample, and expected variance. One thread per
/// sample.
struct SampleNoise {
    static constexpr unsigned max_threads = detect_threads;
    static GLINT_DEVICE void compute(Index index, FrameLaunch f, TileGrid tiles, NoiseGrid grid, float factor,
                                     const float* photoelectrons, const float* offsets, const float* factors,
                                     const float* variance, const float* shot, float* observed, float* expected) {
        const unsigned samples = unsigned(grid.columns * grid.rows), k = index.global();
        if (k >= f.frames * samples) return;
        const unsigned frame = k / samples;
        const int row = int(k % samples) / grid.columns, column = int(k % samples) % grid.columns;
        const int x = noise_margin_px + column * grid.step_px, y = noise_margin_px + row * grid.step_px;
        const unsigned at = unsigned(y) * unsigned(f.width) + unsigned(x);
        const int tile_column = least(x / tiles.tile_px, tiles.columns - 1),
                  tile_row = least(y / tiles.tile_px, tiles.rows - 1);
        const unsigned tile =
            (frame * unsigned(tiles.rows) + unsigned(tile_row)) * unsigned(tiles.columns) + unsigned(tile_column);
        const NoiseSample sample =
            noise_sample({photoelectrons + std::size_t(frame) * pixels_of(f) + at, f.width,
                          variance ? variance + at : nullptr, f.has_qe ? variance + pixels_of(f) + at : nullptr,
                          offsets ? offsets + at : nullptr, factors ? factors + at : nullptr, f.shot_noise, f.variance,
                          factor, total_variance(shot[tile], f.variance)});
        observed[k] = sample.observed;
        expected[k] = sample.expected;
    }
};

/// The median of each frame's samples, by counting: the sample with half of the others below it. One thread per sample,
/// in several blocks per frame, so that all of the GPU's threads are busy although a frame has few samples.
struct NoiseMedian {
    static constexpr unsigned max_threads = 2 * detect_threads;
    static GLINT_DEVICE unsigned blocks_of_frame(Index index, unsigned samples) {
        return (samples + index.block_dim - 1) / index.block_dim;
    }
    static GLINT_DEVICE void stage(Index index, Scratch scratch, unsigned samples, const float* observed, float*) {
        const std::size_t frame = index.block / blocks_of_frame(index, samples);
        for (unsigned k = index.thread; k < samples; k += index.block_dim)
            scratch.as<float>()[k] = observed[frame * samples + k];
    }
    static GLINT_DEVICE void compute(Index index, Scratch scratch, unsigned samples, const float*, float* median) {
        const float* all = scratch.as<float>();
        const unsigned blocks = blocks_of_frame(index, samples);
        const unsigned k = index.block % blocks * index.block_dim + index.thread;
        if (k >= samples) return;
        const float mine = all[k];
        unsigned below = 0, used = 0;
        for (unsigned q = 0; q < samples; ++q) {
            const float other = all[q];
            // Ties are ordered by index, so that exactly one sample is the median. Unused samples are NaN: all
            // comparisons with them are false.
            below += (other < mine) | ((other == mine) & (q < k));
            used += other == other;
        }
        if (mine == mine && below == used / 2) median[index.block / blocks] = mine;
    }
};

/// Each frame's noise check (EmptyNoise::spread) and, if requested, its threshold. One block per frame; per-thread sums
/// are added in the order of threads.
struct NoiseSpread {
    static constexpr unsigned max_threads = detect_threads;
    struct Sums {
        double observed, expected, samples;
    };
    static GLINT_DEVICE void stage(Index index, Scratch scratch, unsigned samples, float, const float* observed,
                                   const float* expected, const float* median, float*, float*) {
        // Each thread sums its samples in double precision; outliers above the limit are counted but not summed.
        const double limit = noise_limit(median[index.block]);
        Sums sums{0, 0, 0};
        for (unsigned k = index.thread; k < samples; k += index.block_dim) {
            const float square = observed[std::size_t(index.block) * samples + k];
            if (square != square) continue;
            sums.samples += 1;
            if (!(square <= limit)) continue;
            sums.observed += square;
            sums.expected += expected[std::size_t(index.block) * samples + k];
        }
        scratch.as<Sums>()[index.thread] = sums;
    }
    static GLINT_DEVICE void compute(Index index, Scratch scratch, unsigned, float threshold, const float*,
                                     const float*, const float*, float* spread, float* least_score) {
        if (index.thread > 0) return;
        Sums all{0, 0, 0};
        for (unsigned t = 0; t < index.block_dim; ++t) {
            const Sums part = scratch.as<Sums>()[t];
            all.observed += part.observed, all.expected += part.expected, all.samples += part.samples;
        }
        const double found = noise_spread(all.observed, all.expected, all.samples);
        spread[index.block] = float(found);
        if (least_score) least_score[index.block] = threshold * noise_excess(found);
    }
};

/// Excludes noise samples near spots. One thread per spot.
struct LeaveOut {
    static constexpr unsigned max_threads = detect_threads;
    static GLINT_DEVICE void compute(Index index, unsigned spots, NoiseGrid grid, const int* places, float* observed) {
        const unsigned k = index.global();
        if (k >= spots) return;
        const GridRange columns = samples_near(places[spots + k], grid.spot_radius_px, grid.step_px, grid.columns);
        const GridRange rows = samples_near(places[2 * spots + k], grid.spot_radius_px, grid.step_px, grid.rows);
        float* of_frame = observed + std::size_t(unsigned(places[k])) * unsigned(grid.columns * grid.rows);
        for (int row = rows.first; row < rows.end; ++row)
            for (int column = columns.first; column < columns.end; ++column)
                of_frame[row * grid.columns + column] = not_a_number();
    }
};

}  // namespace glint::GLINT_ISA
