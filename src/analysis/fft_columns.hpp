// Fourier transforms of columns of numbers, side by side in SIMD registers.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "base/isa.hpp"

namespace glint {

inline constexpr int fft_columns_at_once = 16;

/// sum_j exp(-2 pi i j k / n) x_j for an n that is a product of 2, 3, 4 and 5, the radices.
struct FftPlan {
    int n = 1, stages = 0, radix[32];
    const float *cosine, *sine;  ///< of 2 pi k / n, k = 0 to n - 1
};

/// Complex numbers, as real and imaginary parts: that of row r and column c at r * stride + c.
struct FftInput {
    const float *real, *imaginary;
    std::size_t stride;
};

/// Frequency k of column c lies at i * stride + c (or, transposed, c * stride + i), where i counts the frequencies that are kept:
/// 0 to `rings` - 1, and then -(`rings` - 1) to -1.
struct FftOutput {
    float *real, *imaginary;
    std::size_t stride;
    int rings;
    bool transposed;
};

/// Transforms columns 0 to fft_columns_at_once - 1. `work`: 4 n fft_columns_at_once numbers. Output may be written over the input's columns.
GLINT_PER_ISA(void fft_columns(const FftPlan& plan, const FftInput& from, const FftOutput& to, float* work);)

}  // namespace glint
