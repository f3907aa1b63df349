// Swaps the byte order of pixels in place.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace glint {

constexpr bool host_is_little_endian = std::endian::native == std::endian::little;

// memcpy in and out keeps the loop free of alignment and aliasing rules; compilers turn it into vector
// shifts.
inline void swap_16_bit(std::byte* bytes, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
        std::uint16_t v;
        std::memcpy(&v, bytes + 2 * k, 2);
        v = std::uint16_t((v << 8) | (v >> 8));
        std::memcpy(bytes + 2 * k, &v, 2);
    }
}

inline void swap_32_bit(std::byte* bytes, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
        std::uint32_t v;
        std::memcpy(&v, bytes + 4 * k, 4);
        v = (v << 24) | ((v & 0xff00u) << 8) | ((v >> 8) & 0xff00u) | (v >> 24);
        std::memcpy(bytes + 4 * k, &v, 4);
    }
}

inline void swap_64_bit(std::byte* bytes, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k)
        for (int b = 0; b < 4; ++b) {
            const std::byte low = bytes[8 * k + b];
            bytes[8 * k + b] = bytes[8 * k + 7 - b];
            bytes[8 * k + 7 - b] = low;
        }
}

/// Swaps `n_bytes` of values of 1, 2, 4 or 8 bytes each.
inline void swap_bytes(std::byte* bytes, std::size_t n_bytes, int bytes_per_value) {
    if (bytes_per_value == 2) swap_16_bit(bytes, n_bytes / 2);
    if (bytes_per_value == 4) swap_32_bit(bytes, n_bytes / 4);
    if (bytes_per_value == 8) swap_64_bit(bytes, n_bytes / 8);
}

}  // namespace glint
