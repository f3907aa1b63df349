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

/// Two estimates of each pixel's variance, the light's own changes taken out (eq. 12.2): from the mean, and from differences of
/// neighbouring frames, which slow changes do not reach, whatever their shape over the sensor.
struct LevelNoise {
    std::vector<float> variance;  ///< ADU^2
    double light_spread = 0;      ///< relative standard deviation of the light, as the estimate sees it
    double freedom = 0;           ///< a normal variable's variance has the relative error sqrt(2 / freedom)
};

struct Level {
    LightLevel told;                      ///< but for its variance, which depends on the estimate that is taken
    std::vector<float> mean;              ///< ADU above the offset
    double saturation_adu = 0;            ///< the count that cuts off; 0: none
    std::vector<std::uint8_t> saturated;  ///< per pixel, 1: its counts reach that, or may have come within it by chance
    LevelNoise of_all, of_steps;
    bool by_steps = false;  ///< its light changed slowly, so that neighbouring frames tell its variance better
};

using Finished = std::function<void(std::int64_t)>;

/// Throws InputError where two movies are not of the same part of a sensor, or one has fewer than 2 frames.
void check_calibration_movie(const MovieInfo& info, const MovieInfo& dark);

/// Throws InputError for counts that are no finite numbers, and for saturated frames.
FrameStatistics dark_statistics(Movie& movie, const Finished& finished);
LevelNoise noise_of_all(const FrameStatistics& dark);
LevelNoise noise_of_steps(const FrameStatistics& dark);

/// Throws InputError for light that is saturated, or not brighter than the dark.
Level constant_level(Movie& movie, const FrameStatistics& dark, const Finished& finished);

/// Parts of a movie whose light rises or falls, each with the same number of frames; without those that are saturated or not
/// brighter than the dark. Throws InputError where too few are left, or the light does not change.
std::vector<Level> ramp_levels(Movie& movie, const FrameStatistics& dark, const Finished& finished);

}  // namespace glint
