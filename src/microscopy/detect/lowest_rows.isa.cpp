// A loop over pixels that the compiler vectorises; one source for every instruction set.
// SPDX-License-Identifier: MIT
#include "detect/lowest_rows.hpp"

namespace glint::GLINT_ISA {
namespace {

template <class Count>
void part(Count* __restrict low, Count* __restrict high, int pixels) {
    for (int p = 0; p < pixels; ++p) {
        const Count a = low[p], b = high[p];
        low[p] = b < a ? b : a, high[p] = b < a ? a : b;
    }
}

}  // namespace

void part_uint8(std::uint8_t* low, std::uint8_t* high, int pixels) { part(low, high, pixels); }
void part_uint16(std::uint16_t* low, std::uint16_t* high, int pixels) { part(low, high, pixels); }
void part_float32(float* low, float* high, int pixels) { part(low, high, pixels); }

}  // namespace glint::GLINT_ISA
