// Counter-based random numbers: Philox-4x64 with 10 rounds (Salmon et al., Parallel random numbers: as easy as 1, 2, 3,
// SC 2011), and distributions computed from them. The same bits on the CPU and the GPU, and from any place in the
// sequence.
//
// All arithmetic uses fma(), sqrt() and single products, which are rounded in the same way everywhere: a compiler may
// fuse a * b + c, or not.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>

#include "gpu/kernel_abi.hpp"

namespace glint::arrays::philox {

__extension__ using Wide = unsigned __int128;

struct FourWords {
    std::uint64_t word[4];
};

/// The random words of a counter under a key.
GLINT_DEVICE FourWords words(FourWords counter, std::uint64_t key0, std::uint64_t key1) {
    for (int round = 0; round < 10; ++round) {
        const Wide a = Wide(0xD2E7470EE14C6C93u) * counter.word[0], b = Wide(0xCA5A826395121157u) * counter.word[2];
        counter = {{std::uint64_t(b >> 64) ^ counter.word[1] ^ key0, std::uint64_t(b),
                    std::uint64_t(a >> 64) ^ counter.word[3] ^ key1, std::uint64_t(a)}};
        key0 += 0x9E3779B97F4A7C15u, key1 += 0xBB67AE8584CAA73Bu;
    }
    return counter;
}

/// Block `number` of the sequence of a seed, as numpy.random.Philox(key=seed) counts: from 1.
GLINT_DEVICE FourWords block_of(std::uint64_t seed, std::uint64_t number) {
    return words({{number + 1, number == ~std::uint64_t(0), 0, 0}}, seed, 0);
}

/// Numbers of type T in a block, and the k-th of them, uniform in [0, 1), computed from the words as in NumPy.
template <class T>
constexpr int per_block = int(sizeof(FourWords) / sizeof(T));
GLINT_DEVICE void uniform(const FourWords& block, int k, double& to) { to = double(block.word[k] >> 11) * 0x1p-53; }
GLINT_DEVICE void uniform(const FourWords& block, int k, float& to) {
    to = float(std::uint32_t(block.word[k / 2] >> (k % 2 * 32)) >> 8) * 0x1p-24f;
}

/// The natural logarithm of a normal double, to about an ulp: by log((1 + s) / (1 - s)) = 2 (s + s^3 / 3 + ...), with
/// s^2 < 0.03.
GLINT_DEVICE double log_of(double x) {
    int exponent;
    double m = std::frexp(x, &exponent);
    if (m < 0.70710678118654752) m *= 2, --exponent;
    const double s = (m - 1) / (m + 1), s2 = s * s;
    double sum = 1.0 / 23;
    for (int k = 21; k >= 3; k -= 2) sum = std::fma(sum, s2, 1.0 / k);
    const double small = 2 * s;
    const double tail = small * s2;
    constexpr double ln2_high = 0x1.62e42fefa3800p-1, ln2_low = 0x1.ef35793c76730p-45;
    return std::fma(double(exponent), ln2_high, std::fma(double(exponent), ln2_low, std::fma(tail, sum, small)));
}

/// cos and sin of 2 pi u for u in [0, 1): Taylor's series within an eighth of a turn.
GLINT_DEVICE void turn(double u, double& cosine, double& sine) {
    const int quarter = int(std::fma(u, 4.0, 0.5));
    const double x = std::fma(u, 4.0, -double(quarter)) * 1.5707963267948966, x2 = x * x;
    double c = 1.0 / (16.0 * 15), s = 1.0 / (17.0 * 16);
    for (int k = 14; k >= 2; k -= 2) {
        const double of_c = 1.0 / (k * (k - 1.0)), of_s = 1.0 / ((k + 1.0) * k);
        c = std::fma(-c * x2, of_c, of_c), s = std::fma(-s * x2, of_s, of_s);
    }
    c = std::fma(-c, x2, 1.0), s = std::fma(-s * x2, x, x);
    cosine = quarter % 2 ? (quarter == 1 ? -s : s) : (quarter == 2 ? -c : c);
    sine = quarter % 2 ? (quarter == 1 ? c : -c) : (quarter == 2 ? -s : s);
}

/// Two independent standard normal numbers of two uniform ones (Box and Muller, Ann. Math. Stat. 29, 610 (1958)),
/// computed in double precision.
template <class T>
GLINT_DEVICE void normal(T u, T v, T& a, T& b) {
    const double radius = std::sqrt(-2 * log_of(1 - double(u)));
    double cosine, sine;
    turn(double(v), cosine, sine);
    a = T(radius * cosine), b = T(radius * sine);
}

/// The numbers of a block: uniform, or normal.
template <class T>
GLINT_DEVICE void numbers(std::uint64_t seed, std::uint64_t block, bool normals, T* to) {
    const FourWords random = block_of(seed, block);
    for (int k = 0; k < per_block<T>; ++k) uniform(random, k, to[k]);
    if (!normals) return;
    for (int k = 0; k < per_block<T>; k += 2) normal(to[k], to[k + 1], to[k], to[k + 1]);
}

}  // namespace glint::arrays::philox
