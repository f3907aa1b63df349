// The direction along which molecules tell least of a drift, as along parallel filaments, and whether they tell anything there.
// SPDX-License-Identifier: MIT
#include "analysis/drift/direction.hpp"

#include <cmath>

#include "analysis/drift/coarse.hpp"
#include "analysis/drift/halves.hpp"

namespace glint::drift {
namespace {

Table half_of(const Table& t, bool second) {
    std::vector<char> keep(t.size());
    for (std::size_t row = 0; row < t.size(); ++row) keep[row] = second_half(t.nm[0][row], t.nm[1][row]) == second;
    return rows_of(t, keep);
}

}  // namespace

Direction direction_of(const std::array<double, 3>& matrix_xy) {
    const auto [xx, xy, yy] = matrix_xy;
    const double mean = 0.5 * (xx + yy), half = std::hypot(0.5 * (xx - yy), xy);
    if (!(mean > 0)) return {};
    return {0.5 * std::atan2(2 * xy, xx - yy), (mean - half) / (mean + half)};
}

Table turned(Table t, double angle) {
    const double c = std::cos(angle), s = std::sin(angle);
    for (std::size_t row = 0; row < t.size(); ++row) {
        const double x = t.nm[0][row], y = t.nm[1][row];
        const double of_x = t.precision_nm[0][row], of_y = t.precision_nm[1][row];
        t.nm[0][row] = float(c * x + s * y), t.nm[1][row] = float(c * y - s * x);
        t.precision_nm[0][row] = float(std::hypot(c * of_x, s * of_y));
        t.precision_nm[1][row] = float(std::hypot(s * of_x, c * of_y));
    }
    return t;
}

void turn(FrameDrift& drift, double angle) {
    const double c = std::cos(angle), s = std::sin(angle);
    for (std::size_t f = 0; f < drift[0].size(); ++f) {
        const double x = drift[0][f], y = drift[1][f];
        drift[0][f] = c * x + s * y, drift[1][f] = c * y - s * x;
    }
}

constexpr double most_doubt = 0.05;  // that segments lie elsewhere, as along a line

double halves_differ_along_y(const Table& t, const std::function<void()>& stopped) {
    std::array<Coarse, 2> half;
    for (const bool second : {false, true}) {
        const Table rows = half_of(t, second);
        half[second] = coarse_drift(rows, link(rows), stopped);
        if (!half[second].why.empty() || half[second].wrong_match > most_doubt) return -1;
    }
    double sum = 0, squares = 0;
    const std::vector<double>&by = half[0].drift[1], &other = half[1].drift[1];
    for (std::size_t f = 0; f < by.size(); ++f)
        sum += by[f] - other[f], squares += (by[f] - other[f]) * (by[f] - other[f]);
    const double n = double(by.size());
    return std::sqrt(std::max(0.0, squares / n - sum / n * (sum / n)));
}

}  // namespace glint::drift
