// Fourier transforms of columns of numbers, side by side in SIMD registers.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "base/isa.hpp"

namespace glint {

inline constexpr int fft_columns_at_once = 16;
/// Numbers in a row of a block. A block contains fft_columns_at_once columns. Each of its rows contains first the real
/// and then the imaginary parts.
inline constexpr int fft_block_row = 2 * fft_columns_at_once;

/// The plan of sum_j exp(-2 pi i j k / n) x_j. n must be a product of the radices 2, 3, 4 and 5.
struct FftPlan {
    int n = 1, stages = 0, radix[32];
    const float *cosine, *sine;  ///< of 2 pi k / n, k = 0 to n - 1
};

/// Where the kept frequencies go: 0 to `rings` - 1, then -(`rings` - 1) to -1, numbered by i. Frequency i is row i of
/// one block. If transposed, it is column i of blocks that are `block` numbers apart, and a transformed column becomes
/// a row.
struct FftOutput {
    float* values;
    int rings;
    bool transposed = false;
    std::size_t block = 0;
};

/// Transforms the columns of one block of n rows. `work` has room for 4 n fft_columns_at_once numbers. If transposed,
/// columns beyond the last frequency of the last block become 0.
GLINT_PER_ISA(void fft_columns(const FftPlan& plan, const float* from, const FftOutput& to, float* work);)

}  // namespace glint
