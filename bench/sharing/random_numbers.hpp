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

    /// Uniform in [0, 1).
    double uniform() { return double(bits_() >> 11) * 0x1p-53; }
    double uniform(double low, double high) { return low + (high - low) * uniform(); }
    /// Log-uniform between `low` and `high`, which must be above 0.
    double log_uniform(double low, double high) { return low * std::pow(high / low, uniform()); }

  private:
    std::mt19937_64 bits_;
};

}  // namespace glint::sharing
