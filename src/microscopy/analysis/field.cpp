// The median and how far 99 % of the places lie from it.
// SPDX-License-Identifier: MIT
#include "analysis/field.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "base/median.hpp"

namespace glint {
namespace {

std::pair<double, double> ends_of_most(std::vector<float> values) {
    constexpr double share = 0.99, times = 20, least_px = 10000;
    const double middle = median(values);
    for (float& value : values) value = float(std::abs(double(value) - middle));
    const auto at = values.begin() + std::ptrdiff_t(share * double(values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    const double reach = std::max(times * double(*at), least_px);
    return {middle - reach, middle + reach};
}

}  // namespace

Field::Field(const FrameNeighbors& neighbors) {
    if (neighbors.places().empty()) return;
    std::vector<float> x, y;
    for (const FrameNeighbors::Place& p : neighbors.places()) x.push_back(p.x_px), y.push_back(p.y_px);
    std::tie(left_px, right_px) = ends_of_most(std::move(x));
    std::tie(top_px, bottom_px) = ends_of_most(std::move(y));
}

}  // namespace glint
