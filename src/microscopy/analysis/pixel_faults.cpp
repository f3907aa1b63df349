// Finds hot, dead and noisy pixels. Each test gives less than one false alarm in ten sensors of good pixels.
// SPDX-License-Identifier: MIT
#include "analysis/transfer_curve.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/median.hpp"

namespace glint {
namespace {

constexpr double false_alarms_per_test = 0.1;  // on a whole sensor
constexpr double min_noise_ratio = 3;          // of a noisy pixel to the median pixel
constexpr double dead_response = 0.1;          // of the sensor's slope

/// Returns the z that a normal variable exceeds with this probability.
double normal_limit(double probability) {
    double low = 0, high = 40;
    for (int i = 0; i < 60; ++i) {
        const double middle = 0.5 * (low + high);
        (0.5 * std::erfc(middle / std::sqrt(2.0)) > probability ? low : high) = middle;
    }
    return high;
}

/// Returns the standard deviation of good pixels: that of the values, from their median absolute deviation, or that of
/// one measurement if it is larger.
double spread_of(const std::vector<double>& values, double middle, double measurement) {
    std::vector<double> distances;
    for (const double v : values) distances.push_back(std::abs(v - middle));
    return std::max(1.4826 * median(std::move(distances)), measurement);
}

/// Returns whether a good pixel is unlikely to be constant over all frames. With rounded counts, the probability of a
/// change in a frame grows with the noise.
bool constant_is_dead(double variance, std::int64_t frames, double probability) {
    if (!(variance > 0)) return false;
    return double(frames) * std::log(std::erf(0.5 / std::sqrt(2 * variance))) < std::log(probability);
}

/// Returns the median over the neighbours (up to eight) of a pixel. It is local, so uneven light makes no pixel dead.
double median_around(const std::vector<float>& map, int width, int height, std::size_t k) {
    std::array<float, 8> values;
    std::size_t n = 0;
    const int x = int(k % std::size_t(width)), y = int(k / std::size_t(width));
    for (int v = std::max(y - 1, 0); v <= std::min(y + 1, height - 1); ++v)
        for (int u = std::max(x - 1, 0); u <= std::min(x + 1, width - 1); ++u)
            if (u != x || v != y) values[n++] = map[std::size_t(v) * std::size_t(width) + std::size_t(u)];
    if (n == 0) return 0;
    const auto middle = values.begin() + std::ptrdiff_t(n / 2);
    std::nth_element(values.begin(), middle, values.begin() + std::ptrdiff_t(n));
    return *middle;
}

/// Returns whether the pixel's noise does not rise with the light, or its light is far below that of its neighbours.
bool is_deaf(const LightResponse& light, const FrameStatistics& dark, double read, int width, int height, double z,
             std::size_t k) {
    const PixelLine& line = light.lines[k];
    if (line.slope < dead_response * light.slope && light.slope - line.slope > z * line.error) return true;
    const double around = median_around(light.light_adu, width, height, k);
    if (!(light.light_adu[k] < dead_response * around)) return false;
    const double error = std::sqrt((read + light.slope * around) / light.frames + read / double(dark.frames));
    return around - light.light_adu[k] > z * error;
}

}  // namespace

void find_faults(const FrameStatistics& dark, const LightResponse* light, CameraCalibration& out) {
    const std::size_t n = dark.mean.size();
    const double probability = false_alarms_per_test / double(n), z = normal_limit(probability);
    const std::vector<double> offsets(dark.mean.begin(), dark.mean.end());
    std::vector<double> logs;
    for (const float v : dark.variance)
        if (v > 0) logs.push_back(std::log(double(v)));
    out.faults.assign(n, PixelFault::none);
    out.expected_false_alarms = (light ? 5 : 3) * false_alarms_per_test;
    const double read = median(dark.variance), frames = double(dark.frames), offset = median(offsets);
    const double offset_spread = spread_of(offsets, offset, std::sqrt(read / frames));
    double max_log = 0;
    if (!logs.empty()) {
        const double middle = median(logs);
        max_log =
            middle + std::max(z * spread_of(logs, middle, std::sqrt(2 / (frames - 1))), 2 * std::log(min_noise_ratio));
    }
    const bool dead_if_constant = constant_is_dead(read, dark.frames, probability);
    for (std::size_t k = 0; k < n; ++k) {
        const double v = dark.variance[k];
        if (offsets[k] - offset > z * std::hypot(offset_spread, std::sqrt(v / frames)))  // with the noise of its mean
            out.faults[k] = PixelFault::hot;
        else if ((v <= 0 && dead_if_constant) || (light && is_deaf(*light, dark, read, out.width, out.height, z, k)))
            out.faults[k] = PixelFault::dead;
        else if (v > 0 && std::log(v) > max_log)
            out.faults[k] = PixelFault::noisy;
    }
}

}  // namespace glint
