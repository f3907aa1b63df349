// Fourier transforms of columns of numbers, side by side in SIMD registers.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "base/isa.hpp"

namespace glint {

inline constexpr int fft_columns_at_once = 16;
/// Columns lie in blocks of fft_columns_at_once: each row of a block is its real parts and then its imaginary parts, this many numbers.
inline constexpr int fft_block_row = 2 * fft_columns_at_once;

/// sum_j exp(-2 pi i j k / n) x_j for an n that is a product of 2, 3, 4 and 5, the radices.
struct FftPlan {
    int n = 1, stages = 0, radix[32];
    const float *cosine, *sine;  ///< of 2 pi k / n, k = 0 to n - 1
};

/// Frequencies that are kept: 0 to `rings` - 1, and then -(`rings` - 1) to -1; i counts them. Frequency i is row i of one block.
/// Transposed, it is column i of blocks that are `block` numbers apart, and a column that was transformed is a row.
struct FftOutput {
    float* values;
    int rings;
    bool transposed = false;
    std::size_t block = 0;
};

/// Transforms the columns of one block of n rows. `work`: 4 n fft_columns_at_once numbers. Transposed, columns beyond the last
/// frequency of the last block become 0.
GLINT_PER_ISA(void fft_columns(const FftPlan& plan, const float* from, const FftOutput& to, float* work);)

}  // namespace glint
