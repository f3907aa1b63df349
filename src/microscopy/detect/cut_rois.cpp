// Cuts square regions of interest around spots.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "glint/detect.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

void append_square(std::span<const float> from, int width, int x, int y, int size, std::vector<float>& to) {
    for (int row = y; row < y + size; ++row) {
        const float* begin = from.data() + std::size_t(row) * width + x;
        to.insert(to.end(), begin, begin + size);
    }
}

}  // namespace

Rois make_rois(const CameraView& camera, int size) {
    if (size < min_roi_size || size > max_roi_size)
        throw OptionError(
            fmt::format("a ROI of {} pixels is outside {} to {}: give `roi_size=7`", size, min_roi_size, max_roi_size));
    if (size > camera.width() || size > camera.height())
        throw OptionError(
            fmt::format("a ROI of {0}x{0} pixels does not fit into frames of {1}x{2}: give a smaller "
                        "`roi_size`",
                        size, camera.width(), camera.height()));
    Rois rois;
    rois.size = size;
    rois.variance_scalar = camera.variance_scalar();
    rois.qe_scalar = camera.qe_scalar();
    rois.excess_noise = camera.excess_noise();
    return rois;
}

void cut_rois(std::span<const float> photoelectrons, const CameraView& camera, const Spots& spots, std::uint32_t frame,
              Rois& rois) {
    const int size = rois.size, width = camera.width(), height = camera.height();
    for (std::size_t k = 0; k < spots.count(); ++k) {
        const int x = std::clamp(spots.x[k] - size / 2, 0, width - size);
        const int y = std::clamp(spots.y[k] - size / 2, 0, height - size);
        append_square(photoelectrons, width, x, y, size, rois.pixels);
        if (!camera.variance_map().empty()) append_square(camera.variance_map(), width, x, y, size, rois.variance);
        if (!camera.qe_map().empty()) append_square(camera.qe_map(), width, x, y, size, rois.qe);
        rois.x_corner.push_back(x);
        rois.y_corner.push_back(y);
        rois.x_start.push_back(float(spots.x[k] - x));
        rois.y_start.push_back(float(spots.y[k] - y));
        rois.frame.push_back(frame);
    }
}

}  // namespace glint
