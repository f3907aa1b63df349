// The counter-based random number generator Philox4x32-10 (Salmon et al., SC11, doi:10.1145/2063384.2063405).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

namespace glint {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

/// 128 random bits as a function of counter and key: random access to any position of any stream.
constexpr PhiloxCounter philox(PhiloxCounter c, PhiloxKey key) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0];
        const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[2];
        c = {std::uint32_t(p1 >> 32) ^ c[1] ^ key[0], std::uint32_t(p1), std::uint32_t(p0 >> 32) ^ c[3] ^ key[1],
             std::uint32_t(p0)};
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    return c;
}

}  // namespace glint
