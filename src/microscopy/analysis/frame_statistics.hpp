// Computes the mean and variances of every pixel over the frames of a movie, in one pass and bounded memory. Also
// measures how much the offset changes over dark frames (docs/explanation/theory.md, section 12).
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
    std::vector<float> step_variance;     ///< half the mean square of differences between neighbouring frames, ADU^2
    std::vector<double> frame_mean;       ///< over the pixels of each frame
    double saturation_adu = 0;            ///< the count at which the camera or the file's type clips; 0: none
    std::vector<std::uint8_t> saturated;  ///< per pixel, 1: a frame has that count
};

/// Returns the statistics of `count` frames (at least two) from `first` on. Sums of whole counts are exact: 64 bits
/// hold 4e9 frames of 65,535. Floats are summed as differences from the first frame. `finished(n)` is called after n
/// more frames and may throw to stop.
FrameStatistics frame_statistics(Movie& movie, std::int64_t first, std::int64_t count,
                                 const std::function<void(std::int64_t)>& finished);

/// Returns the change of the offset between joined movies, or between parts of a single movie. Throws InputError if the
/// offset changes more than counts vary by read noise.
DarkChange dark_change(const Movie& movie, const FrameStatistics& dark);

}  // namespace glint
