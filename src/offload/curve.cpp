// Learning and looking up.
// SPDX-License-Identifier: MIT
#include "offload/curve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace glint::offload {
namespace {

constexpr float least_weight = 0.2f;  // of a new run: old ones fade, as neighbours on the machine come and go
constexpr float most_per_run = 2.3f;  // ln 10: one run that was held up does not turn everything around
constexpr std::uint32_t most_counted = 1000;

}  // namespace

int Curve::octave(double size) { return std::clamp(int(std::log2(std::max(size, 1.0))), 0, octaves - 1); }

void Curve::learn(double size, double ratio) {
    if (!(ratio > 0) || !std::isfinite(ratio)) return;
    Point& point = points_[octave(size)];
    const float value = float(std::log(ratio)), at = float(std::log2(std::max(size, 1.0)));
    const float weight = std::max(least_weight, 1 / float(point.count + 1));
    const float step = value - point.log_ratio;
    point.log_ratio += weight * (point.count > 2 ? std::clamp(step, -most_per_run, most_per_run) : step);
    point.log2_size += weight * (at - point.log2_size);
    point.count = std::min(point.count + 1, most_counted);
}

double Curve::ratio(double size) const {
    const float x = float(std::log2(std::max(size, 1.0)));
    const Point *below = nullptr, *above = nullptr;
    for (int k = octave(size); k >= 0 && !below; --k)
        if (points_[k].count && points_[k].log2_size <= x) below = &points_[k];
    for (int k = octave(size); k < octaves && !above; ++k)
        if (points_[k].count && points_[k].log2_size > x) above = &points_[k];
    if (!below && !above) return 1;
    if (!below || !above) return std::exp(double((below ? below : above)->log_ratio));
    const float t = (x - below->log2_size) / (above->log2_size - below->log2_size);
    return std::exp(double(below->log_ratio + t * (above->log_ratio - below->log_ratio)));
}

double Curve::octaves_off(double size) const {
    const double x = std::log2(std::max(size, 1.0));
    double least = std::numeric_limits<double>::infinity();
    for (const Point& point : points_)
        if (point.count) least = std::min(least, std::abs(point.log2_size - x));
    return least;
}

}  // namespace glint::offload
