// Extremes, the highest counts, and medians of frames.
// SPDX-License-Identifier: MIT
#include "analysis/count_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace glint {
namespace {

constexpr std::size_t max_median_counts = 4096;

/// Returns the mean and its standard error.
Estimate mean_of(const double* from, std::size_t count) {
    Estimate to;
    for (std::size_t k = 0; k < count; ++k) to.value += from[k] / double(count);
    for (std::size_t k = 0; k < count; ++k) to.error += std::pow(from[k] - to.value, 2);
    to.error = count > 1 ? std::sqrt(to.error / double(count - 1) / double(count)) : 0;
    return to;
}

Estimate drift_of(const std::vector<double>& medians) {
    const std::size_t tenth = medians.size() / 10;
    if (tenth < 2) return {};
    const Estimate first = mean_of(medians.data(), tenth), last = mean_of(&medians[medians.size() - tenth], tenth);
    return {last.value - first.value, std::hypot(first.error, last.error)};
}

}  // namespace

template <class T>
bool CountStatistics::add_pixels(const T* pixels, std::size_t count) {
    ++frames_, pixels_ += std::int64_t(count);
    highest_.add(pixels, count);
    T least = std::numeric_limits<T>::max(), most = std::numeric_limits<T>::lowest();
    std::int64_t not_finite = 0;
    for (std::size_t k = 0; k < count; ++k) {
        if constexpr (std::is_floating_point_v<T>)
            if (!std::isfinite(pixels[k])) {
                ++not_finite;
                continue;
            }
        least = std::min(least, pixels[k]), most = std::max(most, pixels[k]);
    }
    not_finite_ += not_finite;
    if (not_finite == std::int64_t(count)) return false;
    least_ = std::min(least_.value_or(least), double(least)), most_ = std::max(most_.value_or(most), double(most));
    if (least == most) {
        empty_.push_back(double(most));
        return false;
    }
    const std::size_t step = count / max_median_counts + 1;
    sorted_.clear();
    for (std::size_t k = 0; k < count; k += step)
        if (std::isfinite(double(pixels[k]))) sorted_.push_back(float(pixels[k]));
    if (sorted_.empty()) return false;
    const auto middle = sorted_.begin() + std::ptrdiff_t(sorted_.size() / 2);
    std::nth_element(sorted_.begin(), middle, sorted_.end());
    medians_.push_back(*middle);
    return true;
}

bool CountStatistics::add(const FrameBlock& block, int frame) {
    const std::size_t count = std::size_t(block.width) * std::size_t(block.height);
    const std::byte* bytes = block.frame(frame);
    if (block.type == PixelType::uint8) return add_pixels(reinterpret_cast<const std::uint8_t*>(bytes), count);
    if (block.type == PixelType::uint16) return add_pixels(reinterpret_cast<const std::uint16_t*>(bytes), count);
    return add_pixels(reinterpret_cast<const float*>(bytes), count);
}

MovieCounts CountStatistics::result() const {
    MovieCounts to;
    to.frames = frames_, to.empty_frames = std::int64_t(empty_.size());
    to.min_adu = least_, to.max_adu = most_, to.not_finite = not_finite_;
    to.saturation_adu = highest_.saturation();
    if (to.saturation_adu > 0)
        to.saturated_share = double(highest_.pixels_with_highest()) / double(pixels_);
    else if (!most_)
        to.why_no_saturation = "no pixel has a finite count";
    else if (least_ == most_)
        to.why_no_saturation = "all pixels have the same count, so there is no other count to compare it with";
    else if (highest_.beyond() > 0)
        to.why_no_saturation = "some counts are above 65535, so they are not raw";
    const std::vector<double>& of = medians_.empty() ? empty_ : medians_;
    if (!of.empty()) to.background_adu = mean_of(of.data(), of.size());
    to.background_drift = drift_of(medians_);
    return to;
}

}  // namespace glint
