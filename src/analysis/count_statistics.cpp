// Extremes, a histogram whose end shows saturation, and medians of frames.
// SPDX-License-Identifier: MIT
#include "analysis/count_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace glint {
namespace {

constexpr std::size_t most_for_median = 4096;

/// The highest count, if it is the camera's limit: far more frequent than the counts below it, as no tail of noise is. Counts that
/// fill a number of bits need less.
double saturation_of(const std::vector<std::int64_t>& histogram) {
    constexpr int compared = 8;
    std::size_t at = histogram.size();
    while (at > 0 && histogram[at - 1] == 0) --at;
    if (at < 2) return 0;
    const std::size_t most = at - 1;
    std::int64_t below = 0;
    int found = 0;
    for (std::size_t k = most; k-- > 0 && found < compared;)
        if (histogram[k] > 0) below += histogram[k], ++found;
    if (found == 0) return 0;
    const bool fills_bits = most >= 255 && (most & (most + 1)) == 0;
    const bool is_often = histogram[most] >= (fills_bits ? 2 : 10);
    return is_often && double(histogram[most]) > 3.0 * double(below) / found ? double(most) : 0;
}

/// Mean and its error.
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
    const auto [least, most] = std::minmax_element(pixels, pixels + count);
    least_ = frames_ == 0 ? double(*least) : std::min(least_, double(*least));
    most_ = frames_ == 0 ? double(*most) : std::max(most_, double(*most));
    ++frames_, pixels_ += std::int64_t(count);
    for (std::size_t k = 0; k < count; ++k)
        if (double(pixels[k]) >= 0 && double(pixels[k]) < 65535.5)
            ++histogram_[std::size_t(std::lround(double(pixels[k])))];
    if (*least == *most) {
        ++empty_;
        return false;
    }
    const std::size_t step = count / most_for_median + 1;
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
    to.frames = frames_, to.empty_frames = empty_;
    to.least_adu = least_, to.most_adu = most_;
    to.saturation_adu = most_ < 65535.5 ? saturation_of(histogram_) : 0;
    if (to.saturation_adu > 0)
        to.saturated_share = double(histogram_[std::size_t(to.saturation_adu)]) / double(pixels_);
    to.background_adu = mean_of(medians_.data(), medians_.size());
    to.background_drift = drift_of(medians_);
    return to;
}

}  // namespace glint
