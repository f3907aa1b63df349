// Goodness of fit of a group of molecules, pixel by pixel.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace glint {

enum class PixelNoiseKind { ideal, poisson, multiplied };  ///< as PixelNoise (fit/goodness.hpp)

/// Sums over pixels, as eq. 4.1 and 4.2 have them.
class GroupGoodness {
  public:
    explicit GroupGoodness(PixelNoiseKind noise) : noise_(noise) {}
    /// A pixel with data d', model mu' and variance v / f^2.
    void add(double data, double model, double variance);
    double half_deviance() const { return half_deviance_; }
    double p_value(std::size_t parameters) const;

  private:
    PixelNoiseKind noise_;
    double half_deviance_ = 0, mean_ = 0, variance_ = 0;
    std::size_t pixels_ = 0;
};

}  // namespace glint
