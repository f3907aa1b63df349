// Converts counts to photoelectrons, for the background kernel. Also the kernel that counts unusable pixels.
// SPDX-License-Identifier: MIT
#pragma once

#include "detect/cuda/kernel_common.hpp"

namespace glint::GLINT_ISA {

/// Converts the counts of a frame to photoelectrons (eq. 2.1), like CameraView::to_photoelectrons. Infinity becomes
/// NaN, a missing pixel. `masked`: ten numbers for each CameraView::MaskedPixel, ordered by the first number, the
/// pixel.
template <class Count>
struct ToPhotoelectrons {
    CountsLaunch c;
    const Count* counts;  // of the frame
    const float *offsets, *factors;
    const unsigned* masked;
    const float* variance;

    /// Returns false for NaN and infinity. Integer counts are always finite.
    static GLINT_DEVICE bool good(float value) { return sizeof(Count) < 4 || value - value == 0.0f; }

    /// Rounds the product, like the CPU. Otherwise the compiler might add the unrounded product (fused multiply-add).
    GLINT_DEVICE float unmasked(unsigned at) const {
        const float above_offset = float(counts[at]) - (offsets ? offsets[at] : c.offset),
                    factor = offsets ? factors[at] : c.factor;
#ifdef __CUDACC__
        return __fmul_rn(above_offset, factor);
#else
        return above_offset * factor;
#endif
    }
    /// Masked pixels get the mean of good ones.
    GLINT_DEVICE float pixel(unsigned at) const {
        if (c.masked > 0 && variance[at] >= masked_variance) {
            constexpr unsigned numbers = 10;
            unsigned first = 0, end = c.masked;
            while (first < end) {
                const unsigned middle = (first + end) / 2;
                masked[middle * numbers] < at ? first = middle + 1 : end = middle;
            }
            const unsigned* found = masked + first * numbers;
            if (first < c.masked && found[0] == at) {
                float sum = 0;
                for (unsigned i = 0; i < found[1]; ++i) sum += good_or_missing(unmasked(found[2 + i]));
                return found[1] > 0 ? sum / float(found[1]) : 0.0f;
            }
        }
        return good_or_missing(unmasked(at));
    }

  private:
    static GLINT_DEVICE float good_or_missing(float e) { return good(e) ? e : not_a_number(); }
};

/// Counts the NaN and infinite pixels of each frame, including masked ones; one block per frame.
struct CountBadPixels {
    static constexpr unsigned max_threads = detect_threads;
    static GLINT_DEVICE void stage(Index index, Scratch scratch, FrameLaunch f, CountsLaunch c, const float* counts,
                                   const float* offsets, const float* factors, unsigned*) {
        const ToPhotoelectrons<float> convert{
            c, counts + std::size_t(index.block) * pixels_of(f), offsets, factors, nullptr, nullptr};
        unsigned bad = 0;
        for (unsigned k = index.thread; k < pixels_of(f); k += index.block_dim)
            bad += !convert.good(convert.unmasked(k));
        scratch.as<unsigned>()[index.thread] = bad;
    }
    static GLINT_DEVICE void compute(Index index, Scratch scratch, FrameLaunch, CountsLaunch, const float*,
                                     const float*, const float*, unsigned* bad) {
        if (index.thread > 0) return;
        unsigned sum = 0;
        for (unsigned t = 0; t < index.block_dim; ++t) sum += scratch.as<unsigned>()[t];
        bad[index.block] = sum;
    }
};

}  // namespace glint::GLINT_ISA
