// Coefficients of a tensor product of cubic B-splines, from values at the points of a grid (theory.md, section 1).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace glint {

using Index3 = std::array<std::size_t, 3>;  ///< z, y, x

/// Powers of a cell's fraction as sums of four neighbouring coefficients, times 6.
inline constexpr double cubic_power_weights[4][4] = {{1, 4, 1, 0}, {-3, 0, 3, 0}, {3, -6, 3, 0}, {-1, 3, -3, 1}};

/// Coefficients of a tensor product of cubic B-splines, z, y, x in C order: two more than points along each axis.
struct SplineCoefficients {
    Index3 shape{};
    std::vector<double> values;

    double& at(std::size_t k, std::size_t j, std::size_t i) { return values[(k * shape[1] + j) * shape[2] + i]; }
    double at(std::size_t k, std::size_t j, std::size_t i) const { return values[(k * shape[1] + j) * shape[2] + i]; }
    /// Returns the value in a cell between points, at fractions of it along z, y and x.
    double value(const Index3& cell, const std::array<double, 3>& fractions) const;
    /// Reverses the order along an axis.
    void reverse(std::size_t axis);
};

/// Turns conditions into the coefficients that fulfil them. Along each axis the conditions are the slope at the first
/// point, the values at all points, and the slope at the last point.
void solve_conditions(SplineCoefficients& spline);

/// Returns the spline through the values at points, C order, at least 3 along each axis. The slopes at the ends are
/// those of parabolas through three points, which is inaccurate within about 6 points of an end.
SplineCoefficients interpolate(const Index3& points, const std::vector<double>& values);

/// Returns the sum of the values at the points of the brightest plane.
double brightest_plane(const SplineCoefficients& spline);

}  // namespace glint
