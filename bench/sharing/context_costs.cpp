// Interpolates between the measurements.
// SPDX-License-Identifier: MIT
#include "bench/sharing/context_costs.hpp"

#include <algorithm>
#include <cstddef>

namespace glint::sharing {
namespace {

struct Point {
    double count, seconds;
};
// Range of the measurements: 0.11 to 0.22 s for one alone, 22 to 35 s each when 128 processes started at once.
constexpr Point one_by_one[] = {{0, 0.165}, {16, 0.25}, {32, 0.37}, {96, 0.82}};
constexpr Point all_at_once[] = {{1, 0.165}, {8, 0.9}, {32, 5.0}, {128, 28.5}};

/// Linear interpolation; linear extrapolation beyond the last point.
template <std::size_t N>
double between(const Point (&points)[N], double count) {
    std::size_t k = 1;
    while (k + 1 < N && points[k].count < count) ++k;
    const Point &a = points[k - 1], &b = points[k];
    return a.seconds + (count - a.count) * (b.seconds - a.seconds) / (b.count - a.count);
}

}  // namespace

double context_creation_s(int alive, int at_once) {
    return std::max(between(one_by_one, alive), between(all_at_once, at_once));
}

}  // namespace glint::sharing
