// The filter's kernels, and its normalisation at the frame's edges.
// SPDX-License-Identifier: MIT
#include "detect/filter.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace glint {
namespace {

constexpr double narrow_width_px = 0.8;

/// Returns the taps of a pixel-integrated Gaussian centred on a pixel, from the centre outwards (eq. 1.2).
std::vector<float> gaussian_taps(double width_px, int radius) {
    std::vector<float> taps;
    for (int i = 0; i <= radius; ++i)
        taps.push_back(float(0.5 * (std::erf((i + 0.5) / (std::sqrt(2.0) * width_px)) -
                                    std::erf((i - 0.5) / (std::sqrt(2.0) * width_px)))));
    return taps;
}

/// Sums along one axis over the part of the window inside the frame: of the wide kernel, of 1, of the wide kernel's
/// square, and of the narrow kernel.
struct AxisSums {
    double kernel = 0, box = 0, squared = 0, narrow = 0;
};

AxisSums axis_sums(const Kernels& kernels, int at, int length) {
    AxisSums sums;
    for (int i = std::max(0, at - kernels.radius); i < std::min(length, at + kernels.radius + 1); ++i) {
        const int tap = std::abs(i - at);
        sums.kernel += kernels.wide[tap];
        sums.box += 1;
        sums.squared += kernels.squared[tap];
        if (tap <= narrow_radius) sums.narrow += kernels.narrow[tap];
    }
    return sums;
}

}  // namespace

Filter::Filter(const MatchedFilter& matched)
    : radius_(std::max(narrow_radius, int(std::ceil(3 * matched.width_px)))),
      wide_(gaussian_taps(matched.width_px, radius_)),
      narrow_(gaussian_taps(std::min(matched.width_px, narrow_width_px), narrow_radius)) {
    for (float tap : wide_) squared_.push_back(tap * tap);
    for (float tap : wide_) pairs_.insert(pairs_.end(), {tap, 1});
    while ((pairs_.size() / 2 - 1) % taps_together != 0) pairs_.insert(pairs_.end(), {0, 0});
}

EdgeNorms::EdgeNorms(const Filter& filter, int width, int height) : class_of_(std::size_t(height)) {
    const int radius = filter.radius();
    std::map<std::pair<int, int>, int> classes;
    for (int y = 0; y < height; ++y) {
        const auto [found, is_new] =
            classes.try_emplace({std::min(y, radius), std::min(height - 1 - y, radius)}, int(rows_.size()));
        class_of_[std::size_t(y)] = found->second;
        if (!is_new) continue;
        Row& row = rows_.emplace_back();
        const AxisSums down = axis_sums(filter.kernels(), y, height);
        for (int x = 0; x < width; ++x) {
            const AxisSums along = axis_sums(filter.kernels(), x, width);
            const double a = along.kernel * down.kernel, b = along.box * down.box, c = along.squared * down.squared;
            const double information = c - a * a / b;
            row.box_ratio.push_back(float(a / b));
            // In a window clipped to few pixels, spot and background are indistinguishable. The score is 0 instead of a
            // division by 0.
            row.norm.push_back(information > 1e-4 * c ? float(1 / std::sqrt(information)) : 0.0f);
            row.narrow_norm.push_back(float(1 / (along.narrow * down.narrow)));
        }
    }
}

}  // namespace glint
