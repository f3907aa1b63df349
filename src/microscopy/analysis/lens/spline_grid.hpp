// The grid of a PSF's B-spline coefficients, and the cubic B-spline's values on it.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace glint::lens {

/// The four coefficients that a cubic B-spline series has at a place u: indices first to first + 3, their weights,
/// and the derivatives of these by u.
struct CubicTaps {
    int first;
    std::array<double, 4> weights, slopes;
};

/// B(0) = 2/3, support (-2, 2). Coefficient k is centred at u = k. Limits u to 1 to count - 2, where all four
/// coefficients are among `count`, at least 4. NaN counts as 1.
inline CubicTaps cubic_taps(double u, int count) {
    const double last = count - 2, inside = u > 1 ? std::min(u, last) : 1;
    const double below = std::min(std::floor(inside), last - 1), t = inside - below, s = 1 - t;
    return {int(below) - 1,
            {s * s * s / 6, 2.0 / 3 - t * t + t * t * t / 2, 2.0 / 3 - s * s + s * s * s / 2, t * t * t / 6},
            {-s * s / 2, -2 * t + 1.5 * t * t, 2 * s - 1.5 * s * s, t * t / 2}};
}

/// The grid of a tensor product of cubic B-splines: coefficients c[nz][nxy][nxy], x fastest. The middle of the grid
/// along x and y is the molecule's position. z_min_nm is at index 1 along z, z_max_nm at index nz - 2.
struct SplineGrid {
    int window = 0;   ///< edge of the widest window, px, odd
    int margin = 1;   ///< px around the window, for molecules that are not in its middle
    int samples = 1;  ///< grid points a pixel along x and y
    int nz = 4;
    double z_min_nm = 0, z_max_nm = 0;

    int nxy() const { return samples * (window - 1 + 2 * margin) + 5; }
    double middle() const { return 0.5 * (nxy() - 1); }
    double knot_nm() const { return (z_max_nm - z_min_nm) / (nz - 3); }
    std::size_t plane() const { return std::size_t(nxy()) * std::size_t(nxy()); }
    std::size_t size() const { return plane() * std::size_t(nz); }
    /// The place along z of the grid.
    double w_at(double z_nm) const { return 1 + (z_nm - z_min_nm) / knot_nm(); }
    /// How far a molecule may lie from the middle of the widest window, along x and y.
    double max_offset_px() const { return margin; }
};

/// A PSF: the grid and its coefficients. h, the sum of all terms, is the part of the molecule's light in a pixel.
struct Spline {
    SplineGrid grid;
    std::vector<float> coefficients;  ///< grid.size()
};

}  // namespace glint::lens
