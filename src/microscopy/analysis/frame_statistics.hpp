// Mean and variances of every pixel over frames of a movie, in one pass and bounded memory, and how much the offset
// changes over dark frames (docs/explanation/theory.md, section 12).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "glint/camera_calibration.hpp"
#include "glint/movie.hpp"

namespace glint {

struct FrameStatistics {
    std::int64_t frames = 0;
    std::vector<float> mean, variance;    ///< ADU and ADU^2, per pixel; the unbiased variance
    std::vector<float> step_variance;     ///< half the mean square of differences of neighbouring frames, ADU^2
    std::vector<double> frame_mean;       ///< over the pixels of each frame
    double saturation_adu = 0;            ///< the count at which the camera, or the file's type, cuts off; 0: none
    std::vector<std::uint8_t> saturated;  ///< per pixel, 1: a frame has that count
};

/// Of `count` frames from `first` on, two and more. Sums of whole counts are exact (64 bits hold 4e9 frames of 65,535); those of
/// floats are of differences from the first of them. `finished(n)` is called after n more frames and may throw to stop.
FrameStatistics frame_statistics(Movie& movie, std::int64_t first, std::int64_t count,
                                 const std::function<void(std::int64_t)>& finished);

/// Between movies that were joined, or stretches of a single one. Throws InputError where the offset changes more than read noise
/// makes counts vary, since there is no one offset then.
DarkChange dark_change(const Movie& movie, const FrameStatistics& dark);

}  // namespace glint
