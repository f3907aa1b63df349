// The inner loop of PixelSurvey's quantiles, compiled once per instruction set (base/isa.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/isa.hpp"

namespace glint {

// clang-format off
GLINT_PER_ISA(
/// Writes the lower of each pixel's two counts to `low`, the higher to `high`; NaN counts as higher than all.
void part_uint8(std::uint8_t* low, std::uint8_t* high, int pixels);
void part_uint16(std::uint16_t* low, std::uint16_t* high, int pixels);
void part_float32(float* low, float* high, int pixels);
)
// clang-format on

}  // namespace glint
