// Products of the spectra of groups, added by ring. Two groups share one complex transform.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

#include "base/isa.hpp"

namespace glint {

inline constexpr int frc_groups = 6;
/// Length of a row. The product of groups a and b is number b of row a; rows are padded to a width that suits SIMD
/// registers.
inline constexpr int frc_row = 8;
struct RingTable {
    double products[frc_groups][frc_row];
};

/// Transforms of pairs of groups, as fft_columns() writes them. The first group of a pair is the real part, the second
/// the imaginary part. Frequency kx is a row of a block and ky a column, both numbered as in FftOutput.
struct PairSpectra {
    const float* values[frc_groups / 2];
    int rings;
};

/// Adds the products of one block's frequencies to the tables of their rings. The table of ring[kx * rings + |ky|], if
/// there is one, gets weight[kx] * weight[|ky|] times the real part of F_a conj(F_b). Uses only half of the plane: kx >
/// 0, or kx = 0 and ky > 0.
GLINT_PER_ISA(void add_ring_products(const PairSpectra& spectra, int block, const std::uint16_t* ring,
                                     const double* weight, RingTable* tables);)

}  // namespace glint
