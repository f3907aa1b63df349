// SPDX-License-Identifier: MIT
#include "io/lens/polynomials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>

namespace glint {
namespace {

constexpr const char* lens_axis_names[] = {"z", "y", "x"};

/// Calls `take` for each cell.
template <class Take>
void for_each_cell(const Index3& cells, const Take& take) {
    Index3 cell;
    for (cell[0] = 0; cell[0] < cells[0]; ++cell[0])
        for (cell[1] = 0; cell[1] < cells[1]; ++cell[1])
            for (cell[2] = 0; cell[2] < cells[2]; ++cell[2]) take(cell);
}

/// The largest absolute value at the points.
double find_peak(const CellPolynomials& polynomials) {
    double peak = 0;
    bool is_finite = true, has_light = false;
    for_each_cell(polynomials.cells, [&](const Index3& cell) {
        const double value = double(polynomials.coefficient(cell, {}));
        peak = std::max(peak, std::abs(value));
        has_light |= value > 0;
    });
    for (const float value : polynomials.values) is_finite &= std::isfinite(value);
    if (!is_finite) throw std::runtime_error("a coefficient is not finite");
    if (!has_light) throw std::runtime_error("no value of its PSF is above 0");
    return peak;
}

/// Values at 1 in a cell are those at 0 in the next one. This holds for the right order of the axes alone.
void check_continuity(const CellPolynomials& polynomials, double peak) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
        Index3 cells = polynomials.cells;
        --cells[axis];
        double gap = 0;
        for_each_cell(cells, [&](const Index3& cell) {
            Index3 next = cell, power{};
            ++next[axis];
            double end = 0;
            for (; power[axis] < 4; ++power[axis]) end += double(polynomials.coefficient(cell, power));
            gap = std::max(gap, std::abs(end - double(polynomials.coefficient(next, {}))));
        });
        if (!(gap <= max_spline_error * peak))
            throw std::runtime_error(
                fmt::format("its polynomials do not meet: neighbours along {} differ by {:.2g} of the peak, the limit "
                            "is {:g}; the file is damaged, or its axes have another order",
                            lens_axis_names[axis], gap / peak, max_spline_error));
    }
}

/// What the spline must have along one axis, at place k of points + 2: the slope at the first point, the values at all
/// points, the slope at the last one. `weights`: of the powers in cell `cell`.
struct Condition {
    std::size_t cell = 0;
    std::array<double, 4> weights{};
};

Condition make_condition(std::size_t k, std::size_t cells) {
    if (k == 0) return {0, {0, 1, 0, 0}};
    if (k == cells + 2) return {cells - 1, {0, 1, 2, 3}};
    if (k == cells + 1) return {cells - 1, {1, 1, 1, 1}};
    return {k - 1, {1, 0, 0, 0}};
}

SplineCoefficients gather_conditions(const CellPolynomials& polynomials) {
    SplineCoefficients out;
    for (std::size_t axis = 0; axis < 3; ++axis) out.shape[axis] = polynomials.cells[axis] + 3;
    out.values.reserve(out.shape[0] * out.shape[1] * out.shape[2]);
    for_each_cell(out.shape, [&](const Index3& place) {
        Condition condition[3];
        for (std::size_t axis = 0; axis < 3; ++axis)
            condition[axis] = make_condition(place[axis], polynomials.cells[axis]);
        const Index3 cell{condition[0].cell, condition[1].cell, condition[2].cell};
        double sum = 0;
        for (std::size_t a = 0; a < 4; ++a)
            for (std::size_t b = 0; b < 4; ++b)
                for (std::size_t c = 0; c < 4; ++c) {
                    const double weight = condition[0].weights[a] * condition[1].weights[b] * condition[2].weights[c];
                    if (weight != 0) sum += weight * double(polynomials.coefficient(cell, {a, b, c}));
                }
        out.values.push_back(sum);
    });
    return out;
}

/// Compares both at two places of each cell, which a sequence of low discrepancy chooses.
void check_equality(const CellPolynomials& polynomials, const SplineCoefficients& spline, double peak) {
    constexpr std::uint64_t steps[] = {0xd1b54a32d192ed03, 0xabc98388fb8fac03, 0x8cb92ba72f3d8dd7};  // of R3
    std::uint64_t sequence[3] = {};
    double error = 0;
    for_each_cell(polynomials.cells, [&](const Index3& cell) {
        for (int n = 0; n < 2; ++n) {
            std::array<double, 3> fractions;
            for (std::size_t axis = 0; axis < 3; ++axis)
                fractions[axis] = double((sequence[axis] += steps[axis]) >> 11) * 0x1p-53;
            error = std::max(error, std::abs(polynomials.value(cell, fractions) - spline.value(cell, fractions)));
        }
    });
    if (!(error <= max_spline_error * peak))
        throw std::runtime_error(
            fmt::format("its polynomials are no cubic spline: their slope or curvature jumps between cells. The "
                        "spline with the same values differs from them by {:.2g} of the peak, the limit is {:g}; "
                        "calibrate again from the beads",
                        error / peak, max_spline_error));
}

}  // namespace

double CellPolynomials::value(const Index3& cell, const std::array<double, 3>& fractions) const {
    double sum = 0;
    for (std::size_t a = 4; a-- > 0;) {
        double plane = 0;
        for (std::size_t b = 4; b-- > 0;) {
            double row = 0;
            for (std::size_t c = 4; c-- > 0;) row = row * fractions[2] + double(coefficient(cell, {a, b, c}));
            plane = plane * fractions[1] + row;
        }
        sum = sum * fractions[0] + plane;
    }
    return sum;
}

SplineCoefficients to_spline(const CellPolynomials& polynomials) {
    const double peak = find_peak(polynomials);
    check_continuity(polynomials, peak);
    SplineCoefficients spline = gather_conditions(polynomials);
    solve_conditions(spline);
    check_equality(polynomials, spline, peak);
    return spline;
}

CellPolynomials to_polynomials(const SplineCoefficients& spline) {
    CellPolynomials out;
    for (std::size_t axis = 0; axis < 3; ++axis) out.cells[axis] = spline.shape[axis] - 3;
    out.power_strides = {16, 4, 1};
    out.cell_strides = {64 * out.cells[1] * out.cells[2], 64 * out.cells[2], 64};
    out.values.reserve(64 * out.cells[0] * out.cells[1] * out.cells[2]);
    for_each_cell(out.cells, [&](const Index3& cell) {
        double by_x[4][4][4], by_y[4][4][4];  // k, j, power of x; k, power of y, power of x
        for (std::size_t k = 0; k < 4; ++k)
            for (std::size_t j = 0; j < 4; ++j)
                for (std::size_t c = 0; c < 4; ++c) {
                    by_x[k][j][c] = 0;
                    for (std::size_t i = 0; i < 4; ++i)
                        by_x[k][j][c] +=
                            cubic_power_weights[c][i] / 6 * spline.at(cell[0] + k, cell[1] + j, cell[2] + i);
                }
        for (std::size_t k = 0; k < 4; ++k)
            for (std::size_t b = 0; b < 4; ++b)
                for (std::size_t c = 0; c < 4; ++c) {
                    by_y[k][b][c] = 0;
                    for (std::size_t j = 0; j < 4; ++j) by_y[k][b][c] += cubic_power_weights[b][j] / 6 * by_x[k][j][c];
                }
        for (std::size_t a = 0; a < 4; ++a)
            for (std::size_t b = 0; b < 4; ++b)
                for (std::size_t c = 0; c < 4; ++c) {
                    double sum = 0;
                    for (std::size_t k = 0; k < 4; ++k) sum += cubic_power_weights[a][k] / 6 * by_y[k][b][c];
                    out.values.push_back(float(sum));
                }
    });
    return out;
}

}  // namespace glint
