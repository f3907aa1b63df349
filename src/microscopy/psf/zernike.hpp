// Zernike polynomials of unit rms over the unit disk (Noll, J. Opt. Soc. Am. 66, 207 (1976)).
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

namespace glint {

/// A polynomial R(n, m, r) cos(m theta) or R(n, m, r) sin(m theta), in polar coordinates of the unit disk.
class Zernike {
  public:
    /// `noll`: the number of the polynomial, from 1.
    explicit Zernike(int noll);
    /// Returns the value at a point of the disk. The mean of its square over the disk is 1.
    double value(double x, double y) const;
    int degree() const { return degree_; }
    int angular() const { return angular_; }
    bool is_sine() const { return is_sine_; }

  private:
    int degree_ = 0, angular_ = 0;
    bool is_sine_ = false;
    std::vector<double> radial_;  ///< coefficients of r^n, r^(n-2), ..., r^m, with the norm
};

}  // namespace glint
