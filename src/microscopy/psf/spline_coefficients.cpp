// SPDX-License-Identifier: MIT
#include "psf/spline_coefficients.hpp"

#include <algorithm>

namespace glint {
namespace {

/// Turns the conditions along a line into coefficients: (c[k-1] + 4 c[k] + c[k+1]) / 6 is the value at point k, and
/// (c[k+1] - c[k-1]) / 2 its slope.
void solve_line(double* line, std::size_t count, std::size_t step, std::vector<double>& factors) {
    const auto at = [&](std::size_t k) -> double& { return line[k * step]; };
    const std::size_t last = count - 2;  // of the points, which are 1 to `last`
    const double first_slope = at(0), last_slope = at(count - 1);
    factors.assign(count, 0);
    // The outermost coefficients follow from the slopes; the others are the solution of a tridiagonal system.
    for (std::size_t k = 1; k <= last; ++k) {
        double right = 6 * at(k), below = k > 1 ? 1 : 0, above = k < last ? 1 : 0;
        if (k == 1) right += 2 * first_slope, above = 2;
        if (k == last) right -= 2 * last_slope, below = 2;
        const double pivot = 4 - below * factors[k - 1];
        factors[k] = above / pivot;
        at(k) = (right - (k > 1 ? below * at(k - 1) : 0)) / pivot;
    }
    for (std::size_t k = last - 1; k >= 1; --k) at(k) -= factors[k] * at(k + 1);
    at(0) = at(2) - 2 * first_slope;
    at(count - 1) = at(count - 3) + 2 * last_slope;
}

/// Sets the slopes at both ends of a line from its values.
void add_end_slopes(double* line, std::size_t count, std::size_t step) {
    const auto at = [&](std::size_t k) -> double& { return line[k * step]; };
    const std::size_t last = count - 2;
    at(0) = -1.5 * at(1) + 2 * at(2) - 0.5 * at(3);
    at(count - 1) = 1.5 * at(last) - 2 * at(last - 1) + 0.5 * at(last - 2);
}

}  // namespace

double SplineCoefficients::value(const Index3& cell, const std::array<double, 3>& fractions) const {
    std::array<std::array<double, 4>, 3> weights{};
    for (std::size_t axis = 0; axis < 3; ++axis)
        for (std::size_t m = 0; m < 4; ++m)
            for (std::size_t p = 4; p-- > 0;)
                weights[axis][m] = weights[axis][m] * fractions[axis] + cubic_power_weights[p][m] / 6;
    double sum = 0;
    for (std::size_t k = 0; k < 4; ++k)
        for (std::size_t j = 0; j < 4; ++j)
            for (std::size_t i = 0; i < 4; ++i)
                sum += weights[0][k] * weights[1][j] * weights[2][i] * at(cell[0] + k, cell[1] + j, cell[2] + i);
    return sum;
}

void SplineCoefficients::reverse(std::size_t axis) {
    const std::size_t count = shape[axis];
    std::size_t step = 1;
    for (std::size_t later = axis + 1; later < 3; ++later) step *= shape[later];
    for (std::size_t block = 0; block < values.size(); block += count * step)
        for (std::size_t k = 0; k < count / 2; ++k)
            std::swap_ranges(values.begin() + std::ptrdiff_t(block + k * step),
                             values.begin() + std::ptrdiff_t(block + (k + 1) * step),
                             values.begin() + std::ptrdiff_t(block + (count - 1 - k) * step));
}

void solve_conditions(SplineCoefficients& spline) {
    const auto [nz, ny, nx] = spline.shape;
    std::vector<double> factors;
    for (std::size_t k = 0; k < nz; ++k)
        for (std::size_t j = 0; j < ny; ++j) solve_line(&spline.at(k, j, 0), nx, 1, factors);
    for (std::size_t k = 0; k < nz; ++k)
        for (std::size_t i = 0; i < nx; ++i) solve_line(&spline.at(k, 0, i), ny, nx, factors);
    for (std::size_t j = 0; j < ny; ++j)
        for (std::size_t i = 0; i < nx; ++i) solve_line(&spline.at(0, j, i), nz, nx * ny, factors);
}

SplineCoefficients interpolate(const Index3& points, const std::vector<double>& values) {
    SplineCoefficients spline{{points[0] + 2, points[1] + 2, points[2] + 2}, {}};
    const auto [nz, ny, nx] = spline.shape;
    spline.values.assign(nz * ny * nx, 0.0);
    auto from = values.begin();
    for (std::size_t k = 1; k + 1 < nz; ++k)
        for (std::size_t j = 1; j + 1 < ny; ++j, from += std::ptrdiff_t(points[2]))
            std::copy_n(from, points[2], &spline.at(k, j, 1));
    for (std::size_t k = 1; k + 1 < nz; ++k)
        for (std::size_t j = 1; j + 1 < ny; ++j) add_end_slopes(&spline.at(k, j, 0), nx, 1);
    for (std::size_t k = 1; k + 1 < nz; ++k)
        for (std::size_t i = 0; i < nx; ++i) add_end_slopes(&spline.at(k, 0, i), ny, nx);
    for (std::size_t j = 0; j < ny; ++j)
        for (std::size_t i = 0; i < nx; ++i) add_end_slopes(&spline.at(0, j, i), nz, nx * ny);
    solve_conditions(spline);
    return spline;
}

double brightest_plane(const SplineCoefficients& spline) {
    const auto [nz, ny, nx] = spline.shape;
    // Sums over the points of a plane of coefficients.
    std::vector<double> sums(nz);
    for (std::size_t k = 0; k < nz; ++k)
        for (std::size_t j = 0; j < ny; ++j)
            for (std::size_t i = 0; i < nx; ++i) {
                const auto weight = [](std::size_t n, std::size_t count) {
                    return n == 0 || n == count - 1 ? 1.0 : n == 1 || n == count - 2 ? 5.0 : 6.0;
                };
                sums[k] += weight(j, ny) * weight(i, nx) / 36 * spline.at(k, j, i);
            }
    double brightest = 0;
    for (std::size_t k = 0; k + 2 < nz; ++k)
        brightest = std::max(brightest, (sums[k] + 4 * sums[k + 1] + sums[k + 2]) / 6);
    return brightest;
}

}  // namespace glint
