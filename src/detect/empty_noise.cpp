// Sampling the noise between spots, and saying when it contradicts the camera model.
// SPDX-License-Identifier: MIT
#include "detect/empty_noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace glint {
namespace {

constexpr int margin_px = 2;  // half of the window of the local mean
constexpr double wanted_samples = 1024;
constexpr std::size_t least_samples = 64;
constexpr float difference_norm = 36;   // sum of the squared coefficients of [1 -2 1] x [1 -2 1]
constexpr double outlier_squared = 25;  // five standard deviations
constexpr double least_spread = 0.7;

int grid_count(int length, int step) { return length <= 2 * margin_px ? 0 : (length - 2 * margin_px - 1) / step + 1; }

float second_difference(const float* at, long stride) {
    const float *above = at - stride, *below = at + stride;
    return above[-1] + above[1] + below[-1] + below[1] - 2 * (above[0] + at[-1] + at[1] + below[0]) + 4 * at[0];
}

float local_mean(const float* at, long stride) {
    float sum = 0;
    for (int y = -margin_px; y <= margin_px; ++y)
        for (int x = -margin_px; x <= margin_px; ++x) sum += at[y * stride + x];
    return sum / 25;
}

/// Sum of c^2 v over the second difference's nine pixels, over its norm.
float local_variance(const float* at, long stride) {
    const float *above = at - stride, *below = at + stride;
    const float corners = above[-1] + above[1] + below[-1] + below[1];
    return (corners + 4 * (above[0] + at[-1] + at[1] + below[0]) + 16 * at[0]) / difference_norm;
}

/// Median of squares over that of chi-squared with one degree of freedom: a variance that outliers do not move.
double robust_variance(std::vector<float>& squares) {
    const auto middle = squares.begin() + std::ptrdiff_t(squares.size() / 2);
    std::nth_element(squares.begin(), middle, squares.end());
    return *middle / 0.4549;
}

/// Grid indices [first, end) of the samples within a radius.
struct GridRange {
    int first, end;
};

GridRange near(int at, int radius, int step, int count) {
    const int low = at - radius - margin_px, high = at + radius - margin_px;
    return {low <= 0 ? 0 : (low + step - 1) / step, high < 0 ? 0 : std::min(count, high / step + 1)};
}

}  // namespace

EmptyNoise::EmptyNoise(const CameraView& camera, int spot_radius_px)
    : camera_(&camera),
      spot_radius_px_(spot_radius_px),
      step_px_(std::max(1, int(std::sqrt(double(camera.width()) * camera.height() / wanted_samples)))),
      columns_(grid_count(camera.width(), step_px_)),
      rows_(grid_count(camera.height(), step_px_)),
      samples_(std::size_t(columns_) * rows_) {
    sorted_.reserve(samples_.size());
}

EmptyNoise::Sample EmptyNoise::at(const float* photoelectrons, int x, int y, float tile_variance) const {
    const long stride = camera_->width(), index = y * stride + x;
    const auto map = camera_->variance_map();
    const float difference = second_difference(photoelectrons + index, stride);
    const float shot = camera_->excess_noise() * std::max(local_mean(photoelectrons + index, stride), 0.0f);
    const float read = map.empty() ? camera_->variance_scalar() : local_variance(map.data() + index, stride);
    return {difference * difference / (difference_norm * tile_variance), (shot + read) / tile_variance, true};
}

void EmptyNoise::sample(const float* photoelectrons, const Background& background) {
    std::size_t k = 0;
    for (int row = 0; row < rows_; ++row)
        for (int column = 0; column < columns_; ++column) {
            const int x = margin_px + column * step_px_, y = margin_px + row * step_px_;
            samples_[k++] = at(photoelectrons, x, y, background.variance_at(x, y));
        }
}

void EmptyNoise::leave_out(const Spots& spots) {
    for (std::size_t k = 0; k < spots.count(); ++k) {
        const GridRange rows = near(spots.y[k], spot_radius_px_, step_px_, rows_);
        const GridRange columns = near(spots.x[k], spot_radius_px_, step_px_, columns_);
        for (int row = rows.first; row < rows.end; ++row)
            for (int column = columns.first; column < columns.end; ++column)
                samples_[std::size_t(row) * columns_ + column].is_used = false;
    }
}

double EmptyNoise::spread() {
    sorted_.clear();
    for (const Sample& sample : samples_)
        if (sample.is_used) sorted_.push_back(sample.observed);
    if (sorted_.size() < least_samples) return 0;
    const double limit = outlier_squared * std::max(robust_variance(sorted_), 1.0);
    double observed = 0, expected = 0;
    for (const Sample& sample : samples_) {
        if (!sample.is_used || !(sample.observed <= limit)) continue;
        observed += sample.observed;
        expected += sample.expected;
    }
    const double spread = std::sqrt(observed / std::max(expected, 1e-6 * double(sorted_.size())));
    return std::isfinite(spread) ? spread : 0;
}

std::string camera_contradiction(std::span<const double> empty_score_spreads) {
    std::vector<double> known;
    for (double spread : empty_score_spreads)
        if (spread > 0) known.push_back(spread);
    if (known.empty()) return "";
    const auto middle = known.begin() + std::ptrdiff_t(known.size() / 2);
    std::nth_element(known.begin(), middle, known.end());
    if (*middle > most_noise_spread)
        return fmt::format(
            "the noise on empty regions is {:.2g} times what the camera model says: is this an EMCCD (1.4 "
            "times), the "
            "gain (e-/ADU) too large, the offset too high or the read noise too small? Uncertainties will be "
            "wrong by "
            "about this factor",
            *middle);
    if (*middle < least_spread)
        return fmt::format(
            "the noise on empty regions is only {:.2g} times what the camera model says: is the gain "
            "(e-/ADU) too "
            "small, the offset too low or the read noise too large, or was the movie filtered or resampled? "
            "Uncertainties will be wrong by about this factor",
            *middle);
    return "";
}

}  // namespace glint
