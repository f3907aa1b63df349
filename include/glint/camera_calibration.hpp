// The result of calibrating a camera: maps of offset, read noise and gain with their standard errors.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace glint {

/// A map over the sensor, height * width values in C order, with the standard error of each.
struct MeasuredMap {
    std::vector<float> value, error;
};

/// One movie of constant light, or a part of one whose light rises or falls (a ramp).
struct LightLevel {
    std::string name;  ///< of a ramp with the frames: "ramp.tif, frames 0:500"
    std::int64_t frames = 0;
    double mean_adu = 0, variance_adu2 = 0;  ///< medians over pixels; the mean above the offset
    double light_spread = 0;                 ///< relative standard deviation of the light over the frames
    double drift = 0;                        ///< slow changes that differed between pixels, of the variance; 0: none
    bool of_ramp = false;
    std::vector<float> sample_mean_adu, sample_variance_adu2;  ///< of the pixels CameraCalibration::sample
};

/// Of dark movies, or of stretches of one, those with the lowest and the highest mean.
struct DarkChange {
    std::string lowest, highest;  ///< their names
    double lowest_adu = 0, highest_adu = 0;
    double share = 0;  ///< the variance by changes of the offset over the read variance; 0: they are chance
};

/// Why a pixel is unusable. The numbers are those of the written file.
enum class PixelFault : std::uint8_t {
    none,
    hot,   ///< a dark signal far above the other pixels' offsets
    dead,  ///< the same count in all dark frames, or no response to light
    noisy  ///< a read noise far above the other pixels', as of one that blinks
};

/// `gain_e_per_adu`, `chi2`, `levels` and `sample` are empty if no light was measured.
struct CameraCalibration {
    int width = 0, height = 0;  ///< px
    std::int64_t dark_frames = 0;
    MeasuredMap offset_adu, readvar_adu2;
    DarkChange dark_change;
    MeasuredMap gain_e_per_adu;      ///< the sensor's gain in pixels whose own is too uncertain
    std::vector<float> chi2;         ///< reduced chi-squared of each pixel's line, 0: unknown; empty with one level
    std::vector<PixelFault> faults;  ///< of each pixel
    std::vector<LightLevel> levels;
    std::vector<std::int64_t> sample;  ///< pixels (y * width + x) for a picture of the line: at most 1,000 good ones,
                                       ///< evenly over the sensor, then as many bad ones
    double em_gain = 1;                ///< above 1: of an EMCCD; gains are those before it (Camera::gain_e_per_adu)
    double sensor_readvar_adu2 = 0;  ///< of a typical pixel: the median, corrected for that of few frames being too low
    double error_factor = 1;         ///< by which misfits of the line have made `sensor_gain_error` larger; 1: none
    double sensor_gain = 0;          ///< e-/ADU: weighted mean over pixels, or the one that was given; 0: unknown
    double sensor_gain_error = 0;    ///< its standard error; 0 if the gain was given
    double pixel_gain_error = 0;     ///< median relative standard error of one pixel's gain
    double gain_spread = 0;          ///< relative standard deviation of the true gains over the sensor
    double mean_chi2 = 0;            ///< mean of `chi2` over good pixels
    std::int64_t own_gains = 0;      ///< pixels with a gain of their own
    std::int64_t saturated =
        0;  ///< pairs of a pixel and a level that were left out, as its counts are cut off there, or nearly
    double expected_false_alarms = 0;  ///< normal pixels on the sensor that are expected in `faults`, at most

    /// Returns the gain for which variance over mean has the slope 1: an EMCCD's shot noise is multiplied, with an
    /// excess factor of 2.
    double gain_per_slope() const { return em_gain > 1 ? 2 * em_gain : 1; }
    std::int64_t count(PixelFault fault) const { return std::count(faults.begin(), faults.end(), fault); }
};

}  // namespace glint
