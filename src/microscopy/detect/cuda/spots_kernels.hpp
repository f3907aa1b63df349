// Kernels from lists of maxima to ROIs: gather the spots of all frames and cut their ROIs.
// SPDX-License-Identifier: MIT
#pragma once

#include "detect/cuda/kernel_common.hpp"

namespace glint::GLINT_ISA {

/// Gathers the kept spots of all frames in order. `places` has the columns frame, x, y and the corner (x, y) of the
/// ROI. `starts` has x and y in the ROI, and the score. One block per frame; the counts of the preceding frames give
/// its first row.
struct GatherSpots {
    static constexpr unsigned max_threads = detect_threads;
    static GLINT_DEVICE void stage(Index index, Scratch scratch, FrameLaunch, SpotLaunch s, const float*,
                                   const unsigned*, const unsigned* found, const unsigned char* keep, const unsigned*,
                                   int*, float*) {
        const ItemRange mine = items_of_thread(index, found[index.block]);
        unsigned count = 0;
        for (unsigned k = mine.first; k < mine.end; ++k) count += keep[std::size_t(index.block) * s.capacity + k];
        scratch.as<unsigned>()[index.thread] = count;
    }
    static GLINT_DEVICE int corner(int at, int size, int length) {
        const int first = at - size / 2;
        return first < 0 ? 0 : least(first, length - size);
    }
    static GLINT_DEVICE void compute(Index index, Scratch scratch, FrameLaunch f, SpotLaunch s, const float* score,
                                     const unsigned* list, const unsigned* found, const unsigned char* keep,
                                     const unsigned* kept, int* places, float* starts) {
        unsigned to = 0;
        for (unsigned frame = 0; frame < index.block; ++frame) to += kept[frame];
        for (unsigned t = 0; t < index.thread; ++t) to += scratch.as<unsigned>()[t];
        const ItemRange mine = items_of_thread(index, found[index.block]);
        const std::size_t first = std::size_t(index.block) * s.capacity;
        const unsigned n = s.count;
        for (unsigned k = mine.first; k < mine.end; ++k) {
            if (!keep[first + k]) continue;
            const unsigned pixel = list[first + k], row = to++ - s.first;
            if (row >= n) continue;  // also rejects rows before s.first, because the unsigned difference wraps around
            const int x = int(pixel % unsigned(f.width)), y = int(pixel / unsigned(f.width));
            const int x_corner = corner(x, s.size, f.width), y_corner = corner(y, s.size, f.height);
            places[row] = int(index.block), places[n + row] = x, places[2 * n + row] = y;
            places[3 * n + row] = x_corner, places[4 * n + row] = y_corner;
            starts[row] = float(x - x_corner), starts[n + row] = float(y - y_corner);
            starts[2 * n + row] = score[place_of_maximum(f, index.block, pixel)];
        }
    }
};

/// Cuts the ROIs around spots, as a contiguous stack. One thread per pixel.
struct CutRois {
    static constexpr unsigned max_threads = detect_threads;
    static GLINT_DEVICE void compute(Index index, FrameLaunch f, int size, unsigned spots, const float* photoelectrons,
                                     const int* places, float* pixels) {
        const unsigned area = unsigned(size) * unsigned(size), q = index.global();
        if (q >= spots * area) return;
        const unsigned k = q / area, p = q % area;
        const unsigned x = unsigned(places[3 * spots + k]) + p % unsigned(size),
                       y = unsigned(places[4 * spots + k]) + p / unsigned(size);
        pixels[q] = photoelectrons[std::size_t(unsigned(places[k])) * pixels_of(f) + y * unsigned(f.width) + x];
    }
};

}  // namespace glint::GLINT_ISA
