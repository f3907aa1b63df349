// Cuts the pixels of groups.
// SPDX-License-Identifier: MIT
#include "fit/joint/windows.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace glint {

Rectangle rectangle_of(const Rois& rois, std::span<const std::size_t> windows) {
    int left = std::numeric_limits<int>::max(), top = left, right = std::numeric_limits<int>::min(), bottom = right;
    for (const std::size_t k : windows) {
        left = std::min(left, int(rois.x_corner[k])), right = std::max(right, rois.x_corner[k] + rois.size);
        top = std::min(top, int(rois.y_corner[k])), bottom = std::max(bottom, rois.y_corner[k] + rois.size);
    }
    return {left, top, right - left, bottom - top};
}

JointPixels joint_pixels(const Rois& rois, std::span<const std::size_t> windows) {
    JointPixels pixels(rectangle_of(rois, windows));
    const std::size_t area = std::size_t(rois.size) * std::size_t(rois.size);
    for (const std::size_t k : windows) {
        const auto of = [&](const std::vector<float>& plane) { return plane.empty() ? nullptr : &plane[k * area]; };
        pixels.add({rois.size, of(rois.pixels), of(rois.variance), nullptr, of(rois.qe), rois.variance_scalar,
                    rois.qe_scalar, rois.excess_noise, rois.x_corner[k], rois.y_corner[k]});
    }
    return pixels;
}

void search_in(const Rois& rois, std::span<const std::size_t> windows, JointPixels& pixels) {
    for (const std::size_t k : windows)
        for (int y = 0; y < rois.size; ++y)
            std::fill_n(&pixels[JointPlane::searched][pixels.at(rois.x_corner[k], rois.y_corner[k] + y)], rois.size,
                        1.0f);
}

bool known_matters(const JointPixels& pixels, std::span<const float> before) {
    constexpr std::size_t at_once = joint_columns;  // rows are padded to it; one sum would serialise the additions
    const std::span<const float> data = pixels[JointPlane::data], known = pixels[JointPlane::known];
    std::array<float, at_once> sums{};
    for (std::size_t p = 0; p < before.size(); p += at_once)
        for (std::size_t k = 0; k < at_once; ++k) {
            const float change = known[p + k] - before[p + k];
            sums[k] += change * change / std::max(data[p + k], 1.0f);
        }
    return std::accumulate(sums.begin(), sums.end(), 0.0f) > known_that_matters;
}

JointPixels cut(const JointCut& group, JointFitter& fitter) {
    JointPixels pixels = joint_pixels(*group.pixels, group.windows);
    std::vector<float> before;
    if (group.again) {
        fitter.add_light(group.earlier, pixels);
        before = pixels.copy_of(JointPlane::known);
        pixels.clear_known();
    }
    fitter.add_light(group.light, pixels);
    if (group.again && !known_matters(pixels, before)) return {};
    search_in(*group.searched, group.windows, pixels);
    return pixels;
}

}  // namespace glint
