// Products of the spectra of groups, two in one complex transform, added up by rings.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

#include "base/isa.hpp"

namespace glint {

inline constexpr int frc_groups = 6;
/// Of a ring, the product of groups a and b is number b of row a; rows are filled up to a width that suits SIMD registers.
inline constexpr int frc_row = 8;
struct RingTable {
    double products[frc_groups][frc_row];
};

/// Transforms of groups, the first of each pair in the real and the second in the imaginary part, as fft_columns() leaves them: frequency kx is
/// row kx of a block, ky a column; both are counted as FftOutput does.
struct PairSpectra {
    const float* values[frc_groups / 2];
    int rings;
};

/// Of the frequencies of one block with kx of 0 or more (and with kx = 0 of ky > 0 alone): adds weight[kx] * weight[|ky|] times the real part of
/// F_a conj(F_b) to the table of ring[kx * rings + |ky|], where there is a ring of that number.
GLINT_PER_ISA(void add_ring_products(const PairSpectra& spectra, int block, const std::uint16_t* ring,
                                     const double* weight, RingTable* tables);)

}  // namespace glint
