// The result of calibrating a camera: maps of offset, read noise and gain with their standard errors.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace glint {

/// A map over the sensor, height * width values in C order, with the standard error of each.
struct MeasuredMap {
    std::vector<float> value, error;
};

/// One movie of constant light.
struct LightLevel {
    std::string name;
    std::int64_t frames = 0;
    double mean_adu = 0, variance_adu2 = 0;  ///< medians over pixels; the mean above the offset
    double light_spread = 0;                 ///< relative standard deviation of the light from frame to frame
};

/// `gain`, `chi2` and `levels` are empty where no light was measured.
struct CameraCalibration {
    int width = 0, height = 0;  ///< px
    std::int64_t dark_frames = 0;
    MeasuredMap offset_adu, readvar_adu2;
    MeasuredMap gain_e_per_adu;  ///< the sensor's gain in pixels whose own is too uncertain
    std::vector<float> chi2;     ///< reduced chi-squared of each pixel's line; empty with one level
    std::vector<LightLevel> levels;
    double sensor_gain = 0;        ///< e-/ADU: weighted mean over pixels, or the one that was given; 0: unknown
    double sensor_gain_error = 0;  ///< its standard error; 0 where it was given
    double pixel_gain_error = 0;   ///< median relative standard error of one pixel's gain
    double gain_spread = 0;        ///< relative standard deviation of the true gains over the sensor
    double mean_chi2 = 0;          ///< mean of `chi2`
    std::int64_t own_gains = 0;    ///< pixels with a gain of their own
};

}  // namespace glint
