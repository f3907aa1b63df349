// Measured PSFs as other programs store them, 64 coefficients of a cubic polynomial for each cell of a grid, and as
// glint does, one coefficient of a B-spline for each point (theory.md, section 1).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "psf/spline_coefficients.hpp"

namespace glint {

/// Cubic polynomials on the cells between the points of a grid. The value in a cell, at fractions t, u, v of it along
/// z, y and x, is the sum of coefficient(cell, {a, b, c}) t^a u^b v^c.
struct CellPolynomials {
    Index3 cells{};          ///< along each axis; one fewer than points
    Index3 cell_strides{};   ///< in `values`
    Index3 power_strides{};  ///< in `values`
    std::size_t first = 0;   ///< the place of the first coefficient in `values`
    std::vector<float> values;

    float coefficient(const Index3& cell, const Index3& power) const {
        std::size_t at = first;
        for (std::size_t axis = 0; axis < 3; ++axis)
            at += cell[axis] * cell_strides[axis] + power[axis] * power_strides[axis];
        return values[at];
    }
    Index3 points() const { return {cells[0] + 1, cells[1] + 1, cells[2] + 1}; }
    double value(const Index3& cell, const std::array<double, 3>& fractions) const;
};

/// The most values that a file of polynomials may have: 512 MiB.
constexpr std::size_t max_polynomial_values = (std::size_t(512) << 20) / sizeof(float);
/// The largest difference between a file's polynomials and the spline, of the peak.
constexpr double max_spline_error = 1e-5;

/// Returns the spline that equals the polynomials. At the ends of each axis it has their slopes, whatever conditions
/// the program used. Throws std::runtime_error with the bare reason if
/// - a value is not finite, or none is above 0;
/// - the polynomials of two neighbouring cells do not meet;
/// - the spline differs from them by more than max_spline_error of the peak: their curvature jumps between cells.
SplineCoefficients to_spline(const CellPolynomials& polynomials);

/// Returns the polynomials of a spline. Cells are in C order, each with its coefficients in C order of the powers along
/// z, y and x.
CellPolynomials to_polynomials(const SplineCoefficients& spline);

}  // namespace glint
