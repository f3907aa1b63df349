// Counts of camera pixels as photoelectrons, compiled once per instruction set (base/isa.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/isa.hpp"

namespace glint {

/// Photoelectrons = (counts - offset) * factor. Values are for all pixels, or per pixel if `offsets` and `factors` are
/// not null.
struct CountsScale {
    const float *offsets, *factors;
    float offset, factor;
};

// clang-format off
GLINT_PER_ISA(
void scale_uint8(const std::uint8_t* counts, std::size_t n, const CountsScale& scale, float* photoelectrons);
void scale_uint16(const std::uint16_t* counts, std::size_t n, const CountsScale& scale, float* photoelectrons);
void scale_float32(const float* counts, std::size_t n, const CountsScale& scale, float* photoelectrons);
)
// clang-format on

}  // namespace glint
