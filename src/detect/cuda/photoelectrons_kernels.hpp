// Kernels that convert counts to photoelectrons and count the unusable pixels.
// SPDX-License-Identifier: MIT
#pragma once

#include "detect/cuda/kernel_common.hpp"

namespace glint::GLINT_ISA {

/// Converts counts to photoelectrons (eq. 2.1); infinity becomes NaN, a missing pixel. Each thread converts pixels_of_a_thread
/// pixels, one block width apart, so that accesses are coalesced.
template <class Count>
struct ToPhotoelectrons {
    static constexpr unsigned max_threads = detect_threads, pixels_of_a_thread = 4;

    static GLINT_DEVICE float value(const FrameLaunch& f, float offset, float factor, const float* offsets,
                                    const float* factors, Count count, unsigned k) {
        if (!offsets) return (float(count) - offset) * factor;
        const unsigned pixel = k % pixels_of(f);
        return (float(count) - offsets[pixel]) * factors[pixel];
    }
    /// False for NaN and infinity.
    static GLINT_DEVICE bool good(float value) { return value - value == 0.0f; }

    static GLINT_DEVICE void compute(Index index, FrameLaunch f, float offset, float factor, const Count* counts,
                                     const float* offsets, const float* factors, float* photoelectrons) {
        const unsigned n = f.frames * pixels_of(f), first = index.block * index.block_dim * pixels_of_a_thread;
        GLINT_UNROLL
        for (unsigned i = 0; i < pixels_of_a_thread; ++i) {
            const unsigned k = first + i * index.block_dim + index.thread;
            if (k >= n) continue;
            const float e = value(f, offset, factor, offsets, factors, counts[k], k);
            // Integer counts are always finite; only float32 frames need the test.
            photoelectrons[k] = sizeof(Count) < 4 || good(e) ? e : not_a_number();
        }
    }
};

/// Counts the NaN and infinite pixels of each frame; one block per frame.
struct CountBadPixels {
    static constexpr unsigned max_threads = detect_threads;
    static GLINT_DEVICE void stage(Index index, Scratch scratch, FrameLaunch f, float offset, float factor,
                                   const float* counts, const float* offsets, const float* factors, unsigned*) {
        unsigned bad = 0;
        for (unsigned k = index.thread; k < pixels_of(f); k += index.block_dim) {
            const float count = counts[index.block * pixels_of(f) + k];
            bad += !ToPhotoelectrons<float>::good(
                ToPhotoelectrons<float>::value(f, offset, factor, offsets, factors, count, k));
        }
        scratch.as<unsigned>()[index.thread] = bad;
    }
    static GLINT_DEVICE void compute(Index index, Scratch scratch, FrameLaunch, float, float, const float*,
                                     const float*, const float*, unsigned* bad) {
        if (index.thread > 0) return;
        unsigned sum = 0;
        for (unsigned t = 0; t < index.block_dim; ++t) sum += scratch.as<unsigned>()[t];
        bad[index.block] = sum;
    }
};

/// Masked pixels take the mean of good ones, as CameraView::to_photoelectrons does; one thread per pixel and frame. `list`:
/// CameraView::MaskedPixel, ten numbers each.
struct MendMasked {
    static constexpr unsigned max_threads = detect_threads, numbers = 10;
    static GLINT_DEVICE void compute(Index index, FrameLaunch f, unsigned masked, const unsigned* list,
                                     float* photoelectrons) {
        const unsigned k = index.global();
        if (k >= f.frames * masked) return;
        const unsigned *pixel = list + k % masked * numbers, count = pixel[1];
        float* frame = photoelectrons + std::size_t(k / masked) * pixels_of(f);
        float sum = 0;
        for (unsigned i = 0; i < count; ++i) sum += frame[pixel[2 + i]];
        frame[pixel[0]] = count > 0 ? sum / float(count) : 0.0f;
    }
};

}  // namespace glint::GLINT_ISA
