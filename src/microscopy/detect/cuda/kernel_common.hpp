// Common to all detection kernels: namespace, includes, and the division of a frame among threads.
// SPDX-License-Identifier: MIT
#pragma once

#ifdef __CUDACC__
#define GLINT_ISA cuda
#else
#define GLINT_ISA simulated_gpu
#endif

#include "detect/cuda/detect_launch.hpp"
#include "detect/row_math.hpp"
#include "gpu/kernel_abi.hpp"

#include <cstddef>

namespace glint::GLINT_ISA {

using gpu::Index;
using gpu::Scratch;

GLINT_DEVICE unsigned pixels_of(const FrameLaunch& f) { return unsigned(f.width) * unsigned(f.height); }
GLINT_DEVICE float not_a_number() { return __builtin_nanf(""); }
constexpr float lower_than_any = -3.402823466e38f;  // value of the narrow filter outside the frame
GLINT_DEVICE int least(int a, int b) { return a < b ? a : b; }
GLINT_DEVICE int lowest_bit(unsigned bits) {
#ifdef __CUDACC__
    return __ffs(int(bits)) - 1;
#else
    return __builtin_ctz(bits);
#endif
}

/// Returns the index of a maximum's values. No two maxima are adjacent, so each 2x2 px need room for one.
GLINT_DEVICE std::size_t place_of_maximum(const FrameLaunch& f, unsigned frame, unsigned x, unsigned y) {
    return std::size_t(frame) * max_maxima(f.width, f.height) + y / 2 * (unsigned(f.width + 1) / 2) + x / 2;
}
GLINT_DEVICE std::size_t place_of_maximum(const FrameLaunch& f, unsigned frame, unsigned pixel) {
    return place_of_maximum(f, frame, pixel % unsigned(f.width), pixel / unsigned(f.width));
}

/// A thread's part [first, end) of n items.
struct ItemRange {
    unsigned first, end;
};
GLINT_DEVICE ItemRange items_of_thread(Index index, unsigned n) {
    const unsigned each = (n + index.block_dim - 1) / index.block_dim, first = index.thread * each;
    return {first < n ? first : n, first + each < n ? first + each : n};
}

}  // namespace glint::GLINT_ISA
