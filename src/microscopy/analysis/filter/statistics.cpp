// Percentiles by selection, modes by a kernel estimate on a grid.
// SPDX-License-Identifier: MIT
#include "analysis/filter/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace glint::conditions {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr int steps_per_width = 16;  ///< grid steps per kernel width
constexpr double reach = 5;          ///< reach of a kernel, in widths
constexpr double max_steps = 1 << 20;

void keep_finite(std::vector<double>& values) {
    std::erase_if(values, [](double value) { return !std::isfinite(value); });
}

/// Returns a quantile of finite values, of which there is at least one. Reorders the values.
double quantile_of(std::vector<double>& values, double share) {
    const double place = share * double(values.size() - 1);
    const auto below = values.begin() + std::ptrdiff_t(place);
    std::nth_element(values.begin(), below, values.end());
    const double part = place - std::floor(place);
    if (part == 0) return *below;
    return *below + part * (*std::min_element(below + 1, values.end()) - *below);
}

/// Returns the values as weights of grid points. Each value is shared by its two neighbouring points.
std::vector<double> binned(const std::vector<double>& values, double low, double step, std::size_t points) {
    std::vector<double> weights(points, 0.0);
    for (double value : values) {
        const double place = (value - low) / step;
        if (!(place >= 0 && place < double(points - 1))) continue;
        const auto k = std::size_t(place);
        weights[k] += 1 - (place - double(k)), weights[k + 1] += place - double(k);
    }
    return weights;
}

/// Returns the grid point of the highest density, refined by the parabola through its neighbours.
double peak_of(const std::vector<double>& weights) {
    std::vector<double> kernel;
    for (int k = 0; k <= int(reach * steps_per_width); ++k)
        kernel.push_back(std::exp(-0.5 * std::pow(double(k) / steps_per_width, 2)));
    std::vector<double> density(weights.size(), 0.0);
    for (std::size_t at = 0; at < weights.size(); ++at) {
        if (weights[at] == 0) continue;
        for (std::size_t k = 0; k < kernel.size(); ++k) {
            if (at >= k) density[at - k] += weights[at] * kernel[k];
            if (k > 0 && at + k < density.size()) density[at + k] += weights[at] * kernel[k];
        }
    }
    const auto top = std::max_element(density.begin(), density.end());
    const auto at = std::size_t(top - density.begin());
    if (at == 0 || at + 1 == density.size()) return double(at);
    const double left = density[at - 1], right = density[at + 1], curvature = left - 2 * *top + right;
    return double(at) + (curvature < 0 ? 0.5 * (left - right) / curvature : 0);
}

}  // namespace

double percentile(std::vector<double> values, double percent) {
    keep_finite(values);
    return values.empty() ? unknown : quantile_of(values, percent / 100);
}

double mode(std::vector<double> values) {
    keep_finite(values);
    if (values.empty()) return unknown;
    const double middle = quantile_of(values, 0.5);
    const double lower = quantile_of(values, 0.25), range = quantile_of(values, 0.75) - lower;
    const double width = 0.9 * range / 1.34 * std::pow(double(values.size()), -0.2), step = width / steps_per_width;
    if (!(step > 0) || !std::isfinite(range) || middle + step == middle) return middle;  // half of the values are equal
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const double low = std::max(*least - width, middle - 0.4 * max_steps * step);
    const double high = std::min(*most + width, middle + 0.4 * max_steps * step);
    const std::vector<double> weights = binned(values, low, step, std::size_t((high - low) / step) + 2);
    return low + step * peak_of(weights);
}

}  // namespace glint::conditions
