// Kernels of the noise check (theory.md, eq. 5.9). The spread of all samples sets the threshold. When the spots are
// known (maxima_kernels.hpp), the spread is measured again without the samples near them.
// SPDX-License-Identifier: MIT
#pragma once

#include "detect/cuda/kernel_common.hpp"

namespace glint::GLINT_ISA {

/// Samples the noise (eq. 5.9): observed variance (NaN for an unusable sample) and expected variance. One thread per
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

/// Computes each frame's noise check (EmptyNoise::spread) and, if requested, its threshold. One block per frame. Finds
/// the median in digits of four bits: counts the samples with each next digit among those that match the digits so far.
/// Adds the threads' sums in thread order.
struct JudgeNoise {
    static constexpr unsigned max_threads = detect_threads;
    static constexpr int digits = noise_digits, phases = 1 + digits + 2;
    static constexpr unsigned values = digit_values;
    struct PerThread {
        unsigned rank, median;  // rank of the median among the samples with its first digits; these digits
        bool any;
    };
    struct Sums {
        double observed, expected, samples;
    };
    static_assert(sizeof(Sums) == noise_sums * sizeof(double));

    static GLINT_DEVICE unsigned bits_of(float value) { return __builtin_bit_cast(unsigned, value); }

    /// Appends the median's next digit, from the number of samples with each digit. The first call also counts all
    /// samples.
    static GLINT_DEVICE void take_digit(PerThread& own, bool first, const unsigned* numbers) {
        if (first) {
            unsigned used = 0;
            for (unsigned digit = 0; digit < values; ++digit) used += numbers[digit];
            own.any = used > 0, own.rank = used / 2;
        }
        unsigned digit = 0;
        for (; digit + 1 < values && own.rank >= numbers[digit]; ++digit) own.rank -= numbers[digit];
        own.median = own.median << 4 | digit;
    }

    static GLINT_DEVICE void phase(int phase, PerThread& own, Index index, Scratch scratch, unsigned samples,
                                   float threshold, const float* observed, const float* expected, float* spread,
                                   float* min_score) {
        Sums* parts = scratch.as<Sums>();
        unsigned* numbers = reinterpret_cast<unsigned*>(parts + detect_threads);
        const float *of_frame = observed + std::size_t(index.block) * samples,
                    *of_model = expected + std::size_t(index.block) * samples;
        if (phase == 0) {
            for (unsigned k = index.thread; k < unsigned(digits) * values; k += index.block_dim) numbers[k] = 0;
        } else if (phase <= digits) {
            const int digit = phase - 1;
            if (digit > 0) take_digit(own, digit == 1, numbers + unsigned(digit - 1) * values);
            if (digit > 0 && !own.any) return;
            for (unsigned k = index.thread; k < samples; k += index.block_dim) {
                // Squares are never negative, so their bits have the same order. Unused samples are NaN.
                const unsigned bits = bits_of(of_frame[k]);
                if (of_frame[k] != of_frame[k] || (digit > 0 && bits >> (32 - 4 * digit) != own.median)) continue;
                gpu::add_together(numbers[unsigned(digit) * values + (bits >> (28 - 4 * digit)) % values], 1);
            }
        } else if (phase == digits + 1) {
            take_digit(own, false, numbers + unsigned(digits - 1) * values);
            // Sums in double precision; outliers above the limit are counted but not summed.
            const double limit = noise_limit(own.any ? __builtin_bit_cast(float, own.median) : 0.0f);
            Sums sums{0, 0, 0};
            for (unsigned k = index.thread; k < samples; k += index.block_dim) {
                const float square = of_frame[k];
                if (square != square) continue;
                sums.samples += 1;
                if (!(square <= limit)) continue;
                sums.observed += square;
                sums.expected += of_model[k];
            }
            parts[index.thread] = sums;
        } else if (index.thread == 0) {
            Sums all{0, 0, 0};
            for (unsigned t = 0; t < index.block_dim; ++t) {
                const Sums part = parts[t];
                all.observed += part.observed, all.expected += part.expected, all.samples += part.samples;
            }
            const double found = noise_spread(all.observed, all.expected, all.samples);
            spread[index.block] = float(found);
            if (min_score) min_score[index.block] = threshold * noise_excess(found);
        }
    }
};

}  // namespace glint::GLINT_ISA
