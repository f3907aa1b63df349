// Levels of light for a camera's calibration: movies of constant light, and parts of ramps (theory.md, section 12).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/frame_statistics.hpp"
#include "glint/camera_calibration.hpp"
#include "glint/movie.hpp"

namespace glint {

/// Two estimates of each pixel's variance, without the changes of the light itself (eq. 12.2). One uses the mean. The
/// other uses differences of neighbouring frames, which slow changes do not affect, whatever their shape over the
/// sensor.
struct LevelNoise {
    std::vector<float> variance;  ///< ADU^2
    double light_spread = 0;      ///< relative standard deviation of the light, according to this estimate
    double freedom = 0;           ///< the variance of a normal variable has the relative error sqrt(2 / freedom)
};

struct Level {
    LightLevel reported;                  ///< without the variance, which depends on the chosen estimate
    std::vector<float> mean;              ///< ADU above the offset
    double saturation_adu = 0;            ///< the count at which the camera clips; 0: none
    std::vector<std::uint8_t> saturated;  ///< per pixel, 1: counts reach that limit, or might have
    LevelNoise of_all, of_steps;
    bool by_steps = false;  ///< the light changed slowly, so neighbouring frames give the better variance
};

using Finished = std::function<void(std::int64_t)>;

/// Throws InputError if the movies do not show the same part of a sensor, or if one has fewer than 2 frames.
void check_calibration_movie(const MovieInfo& info, const MovieInfo& dark);

/// Throws InputError for counts that are not finite, and for saturated frames.
FrameStatistics dark_statistics(Movie& movie, const Finished& finished);
LevelNoise noise_of_all(const FrameStatistics& dark);
LevelNoise noise_of_steps(const FrameStatistics& dark);

/// Throws InputError for light that is saturated, or not brighter than the dark movie.
Level constant_level(Movie& movie, const FrameStatistics& dark, const Finished& finished);

/// Splits a movie whose light rises or falls into levels with the same number of frames. Leaves out levels that are
/// saturated or not brighter than the dark movie. Throws InputError if too few levels remain, or if the light does not
/// change.
std::vector<Level> ramp_levels(Movie& movie, const FrameStatistics& dark, const Finished& finished);

}  // namespace glint
