// Kernels that find the maxima of the narrow filter, first as a bitmap, then as an ordered list.
// SPDX-License-Identifier: MIT
#pragma once

#include "detect/cuda/kernel_common.hpp"

namespace glint::GLINT_ISA {

/// Missing pixels are lower than any, as those outside the frame are. Frames without any are left as they are. One thread per pixel.
struct LowerMissing {
    static constexpr unsigned max_threads = detect_threads;
    static GLINT_DEVICE void compute(Index index, FrameLaunch f, const unsigned* missing, const float* photoelectrons,
                                     float* narrow) {
        const unsigned k = index.global();
        if (k >= f.frames * pixels_of(f) || missing[k / pixels_of(f)] == 0) return;
        if (!(photoelectrons[k] == photoelectrons[k])) narrow[k] = lower_than_any;
    }
};

/// A bitmap of the maxima of the narrow filter whose score reaches the threshold. With one bit per pixel, listing them
/// in order is cheap, without atomics.
struct MarkMaxima {
    static constexpr unsigned max_threads = detect_threads;
    static constexpr unsigned pixels = search_columns * search_rows, words = pixels / 32;
    static_assert(words <= detect_threads);

    struct Place {
        unsigned frame;
        int x, y;
    };
    static GLINT_DEVICE Place place(Index index, const FrameLaunch& f) {
        const unsigned across_frame = unsigned((f.width + search_columns - 1) / search_columns);
        const unsigned down_frame = unsigned((f.height + search_rows - 1) / search_rows);
        const unsigned block = index.block / across_frame;
        return {block / down_frame, int(index.block % across_frame) * search_columns,
                int(block % down_frame) * search_rows};
    }

    /// Whether (x, y) is a maximum; pixels outside the frame are lower than any.
    static GLINT_DEVICE bool is_hit(const FrameLaunch& f, const float* narrow, int x, int y) {
        float around[3][3];
        GLINT_UNROLL
        for (int j = 0; j < 3; ++j) GLINT_UNROLL
        for (int i = 0; i < 3; ++i) {
            const int column = x + i - 1, row = y + j - 1;
            const bool is_inside = column >= 0 && column < f.width && row >= 0 && row < f.height;
            around[j][i] = is_inside ? narrow[row * f.width + column] : lower_than_any;
        }
        return is_maximum(around[0], around[1], around[2], 1);
    }

    static GLINT_DEVICE void stage(Index index, Scratch scratch, FrameLaunch f, const float* score, const float* narrow,
                                   const float* least_score, unsigned*) {
        const Place at = place(index, f);
        const std::size_t frame = std::size_t(at.frame) * pixels_of(f);
        const float least = least_score[at.frame];
        for (unsigned k = index.thread; k < pixels; k += index.block_dim) {
            const int x = at.x + int(k) % search_columns, y = at.y + int(k) / search_columns;
            scratch.as<unsigned char>()[k] = x < f.width && y < f.height &&
                                             score[frame + unsigned(y * f.width + x)] >= least &&
                                             is_hit(f, narrow + frame, x, y);
        }
    }
    static GLINT_DEVICE void compute(Index index, Scratch scratch, FrameLaunch f, const float*, const float*,
                                     const float*, unsigned* marks) {
        if (index.thread >= words) return;
        const Place at = place(index, f);
        const int y = at.y + int(index.thread) / (search_columns / 32);
        const unsigned word = unsigned(at.x) / 32 + index.thread % (search_columns / 32),
                       row_words = mark_words(f.width);
        if (y >= f.height || word >= row_words) return;
        // One word per thread from the bytes of the first phase: no atomics on shared words.
        unsigned bits = 0;
        for (unsigned i = 0; i < 32; ++i) bits |= unsigned(scratch.as<unsigned char>()[index.thread * 32 + i]) << i;
        marks[(std::size_t(at.frame) * unsigned(f.height) + unsigned(y)) * row_words + word] = bits;
    }
};

/// Each frame's maxima in order of row and column, as pixel indices, and their number: a prefix sum over the bitmap's
/// words. One block per frame.
struct ListMaxima {
    static constexpr unsigned max_threads = 2 * detect_threads;

    static GLINT_DEVICE unsigned words_of(const FrameLaunch& f) { return mark_words(f.width) * unsigned(f.height); }
    static GLINT_DEVICE unsigned ones(unsigned bits) {
#ifdef __CUDACC__
        return unsigned(__popc(int(bits)));
#else
        return unsigned(__builtin_popcount(bits));
#endif
    }
    static GLINT_DEVICE void stage(Index index, Scratch scratch, FrameLaunch f, unsigned, const unsigned* marks,
                                   unsigned*, unsigned*) {
        const Share mine = share_of(index, words_of(f));
        unsigned count = 0;
        for (unsigned k = mine.first; k < mine.end; ++k)
            count += ones(marks[std::size_t(index.block) * words_of(f) + k]);
        scratch.as<unsigned>()[index.thread] = count;
    }
    static GLINT_DEVICE void compute(Index index, Scratch scratch, FrameLaunch f, unsigned capacity,
                                     const unsigned* marks, unsigned* list, unsigned* found) {
        // The maxima of all preceding threads: this thread's first place in the list.
        unsigned before = 0;
        for (unsigned t = 0; t < index.thread; ++t) before += scratch.as<unsigned>()[t];
        const Share mine = share_of(index, words_of(f));
        for (unsigned k = mine.first; k < mine.end; ++k) {
            const unsigned pixel = k / mark_words(f.width) * unsigned(f.width) + k % mark_words(f.width) * 32;
            unsigned bits = marks[std::size_t(index.block) * words_of(f) + k];
            for (unsigned i = 0; bits; ++i, bits >>= 1)
                if (bits & 1) list[std::size_t(index.block) * capacity + before++] = pixel + i;
        }
        if (index.thread + 1 == index.block_dim) found[index.block] = before;
    }
};

}  // namespace glint::GLINT_ISA
