// Sums and differences that stay within 64 bits: the amounts come from records that other processes wrote.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace glint::gpu::lease {

constexpr std::uint64_t minus(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }
constexpr std::uint64_t plus(std::uint64_t a, std::uint64_t b) { return a + b < a ? ~std::uint64_t(0) : a + b; }

}  // namespace glint::gpu::lease
