// SPDX-License-Identifier: MIT
#include "plot/ticks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace glint::plots {
namespace {

constexpr double scientific_from = 1e5, scientific_below = 1e-3;

std::string number_text(double value, double step) {
    if (value == 0) value = 0;  // not -0
    const double size = std::max(std::abs(value), std::abs(step));
    if (size >= scientific_from || step < scientific_below) return fmt::format("{:g}", value);
    const int decimals = std::max(0, int(std::ceil(-std::log10(step) - 1e-9)));
    return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

std::vector<Tick> linear_ticks(double low, double high, int wanted) {
    const double range = high - low;
    if (!(range > 0) || !std::isfinite(range)) return {};
    const double least = range / std::max(wanted, 1), power = std::pow(10, std::floor(std::log10(least)));
    double step = 10 * power;
    for (const double factor : {5.0, 2.0, 1.0})
        if (factor * power >= least) step = factor * power;
    std::vector<Tick> ticks;
    const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
    for (double k = first; k <= last && ticks.size() < 1000; ++k)
        ticks.push_back({k * step, number_text(k * step, step)});
    return ticks;
}

std::vector<Tick> log_ticks(double low, double high, int wanted) {
    if (!(low > 0) || !(high > low) || !std::isfinite(high)) return {};
    const int first = int(std::floor(std::log10(low))), last = int(std::ceil(std::log10(high)));
    const auto inside = [&](double value) { return value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9); };
    const int powers = int(std::floor(std::log10(high) + 1e-9)) - int(std::ceil(std::log10(low) - 1e-9)) + 1;
    const int every = std::max(1, (powers + wanted - 1) / std::max(wanted, 1));
    std::vector<Tick> ticks;
    for (int power = first; power <= last; ++power)
        for (int factor = 1; factor < 10; ++factor) {
            const double value = factor * std::pow(10, power);
            if (!inside(value)) continue;
            const bool has_number =
                powers < 2 ? factor == 1 || factor == 2 || factor == 5 : factor == 1 && (power - first) % every == 0;
            ticks.push_back({value, has_number ? fmt::format("{:g}", value) : ""});
        }
    return ticks;
}

}  // namespace glint::plots
