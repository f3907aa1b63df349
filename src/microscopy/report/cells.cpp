// Chooses the edges of cells.
// SPDX-License-Identifier: MIT
#include "report/cells.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>

namespace glint {
namespace {

/// Returns the nearest number with so many decimal digits.
double with_digits(double value, int digits) {
    return std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
}

/// Returns the smallest of 1, 2 and 5 times a power of ten that is at least `width`.
double nice_step(double width) {
    const double power = std::pow(10, std::floor(std::log10(width)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= width * (1 - 1e-9)) return factor * power;
    return 10 * power;
}

void keep_ascending(std::vector<double>& edges) {
    edges.erase(std::unique(edges.begin(), edges.end(), [](double a, double b) { return !(a < b); }), edges.end());
}

ValueCells log_cells(double low, double high, int cells) {
    ValueCells made;
    made.is_log = true;
    for (int k = 0; k <= cells; ++k)
        made.edges.push_back(with_digits(low * std::pow(high / low, double(k) / cells), 4));
    keep_ascending(made.edges);
    return made;
}

ValueCells linear_cells(double low, double high, double step) {
    ValueCells made;
    const double first = std::floor(low / step), last = std::ceil(high / step);
    for (double k = first; k <= last && made.edges.size() < 254; ++k) made.edges.push_back(with_digits(k * step, 12));
    keep_ascending(made.edges);
    return made;
}

}  // namespace

ValueCells make_cells(std::vector<double> sample) {
    constexpr double log_factor = 8;
    std::erase_if(sample, [](double value) { return !std::isfinite(value); });
    if (sample.empty()) return {};
    std::sort(sample.begin(), sample.end());
    const auto at = [&](double share) { return sample[std::size_t(share * double(sample.size() - 1))]; };
    double low = at(0.001), high = at(0.999);
    if (!(low < high)) low = sample.front(), high = sample.back();
    if (!(low < high)) return {{low, std::nextafter(low, std::numeric_limits<double>::infinity())}};
    if (low > 0 && high / low > log_factor && high / low < 1e300) return log_cells(low, high, usual_cells);
    const double step = nice_step((high - low) / usual_cells);
    if (!std::isfinite(step) || !(step > 1e-12 * std::max(std::abs(low), std::abs(high)))) return {{low, high}};
    return linear_cells(low, high, step);
}

ValueCells make_integer_cells(double min, double max) {
    constexpr double max_integers = 250;
    if (!(min <= max)) return {};
    const double step = max - min <= max_integers ? 1 : std::ceil((max - min) / usual_cells);
    ValueCells made;
    made.is_integer = step == 1;
    for (double edge = min + step; edge <= max && made.edges.size() < 254; edge += step) made.edges.push_back(edge);
    return made;
}

ValueCells make_probability_cells() { return log_cells(1e-6, 1, 96); }

}  // namespace glint
