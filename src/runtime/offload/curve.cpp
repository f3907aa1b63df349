// Updates a correction curve, and interpolates it.
// SPDX-License-Identifier: MIT
#include "offload/curve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace glint::offload {
namespace {

constexpr float min_weight = 0.2f;   // of a new run: exponential forgetting, because the load of the machine changes
constexpr float max_per_run = 2.3f;  // ln 10: limits the effect of a single outlier
constexpr std::uint32_t max_counted = 1000;
// Only the fastest of the first runs counts: the remaining runs include page faults, idle threads waking up, and
// planning.
constexpr std::uint32_t first_runs = 3;

}  // namespace

// Sizes below 1 and above 2^63 share the outermost points.
int Curve::octave(double size) { return std::clamp(int(log2_of(size)), 0, octaves - 1); }

void Curve::learn(double size, double ratio) {
    if (!(ratio > 0) || !std::isfinite(ratio)) return;
    known_ = true;
    Point& point = points_[octave(size)];
    // In logarithms: a run that takes twice as long and one that takes half as long average to the estimate. The weight
    // of a new run falls as 1/n, which gives a plain mean, until min_weight. From then on, old runs are gradually
    // forgotten.
    const float value = float(std::log(ratio)), at = log2_of(size);
    const float weight = std::max(min_weight, 1 / float(point.count + 1));
    // Only later runs are clamped: the first estimate may be wrong by any factor, and its correction must not take ten
    // runs.
    if (point.count < first_runs)
        point.log_ratio = point.count ? std::min(point.log_ratio, value) : value;
    else
        point.log_ratio += weight * std::clamp(value - point.log_ratio, -max_per_run, max_per_run);
    // The point moves to the mean of its sizes, not to the middle of its octave: many programs use only one size, for
    // which the interpolation is then exact.
    point.log2_size += weight * (at - point.log2_size);
    point.count = std::min(point.count + 1, max_counted);
}

// Sizes below 1 (an empty operation) count as 1: the logarithm must stay finite.
float Curve::log2_of(double size) { return std::log2(std::max(float(size), 1.0f)); }

// Called twice or more per decision. The nearest points below and above are searched from x outwards; the octave of x
// itself may hold its point on either side.
Curve::Value Curve::at(float x) const {
    if (!known_) return {1, std::numeric_limits<double>::infinity()};
    const int here = std::clamp(int(x), 0, octaves - 1);
    const Point *below = nullptr, *above = nullptr;
    for (int k = here; k >= 0 && !below; --k)
        if (points_[k].count && points_[k].log2_size <= x) below = &points_[k];
    for (int k = here; k < octaves && !above; ++k)
        if (points_[k].count && points_[k].log2_size > x) above = &points_[k];
    if (!below && !above) return {1, std::numeric_limits<double>::infinity()};
    if (!below || !above) {  // beyond the measured range the nearest ratio holds, since the estimate scales with size
        const Point& one = *(below ? below : above);
        return {std::exp(one.log_ratio), std::abs(one.log2_size - x)};
    }
    // above > x >= below, so this does not divide by 0.
    const float t = (x - below->log2_size) / (above->log2_size - below->log2_size);
    return {std::exp(below->log_ratio + t * (above->log_ratio - below->log_ratio)),
            std::min(x - below->log2_size, above->log2_size - x)};
}

}  // namespace glint::offload
