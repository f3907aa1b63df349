// Random numbers that are the same with any compiler and standard library.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace glint::sharing {

class RandomNumbers {
  public:
    explicit RandomNumbers(std::uint64_t seed) : bits_(seed) {}

    /// In [0, 1).
    double uniform() { return double(bits_() >> 11) * 0x1p-53; }
    double uniform(double low, double high) { return low + (high - low) * uniform(); }
    /// Each doubling between `low` and `high`, both above 0, is as likely as any other.
    double log_uniform(double low, double high) { return low * std::pow(high / low, uniform()); }

  private:
    std::mt19937_64 bits_;
};

}  // namespace glint::sharing
