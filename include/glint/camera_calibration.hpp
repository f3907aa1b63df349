// The result of calibrating a camera: maps of offset, read noise and gain with their standard errors.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace glint {

/// A map over the sensor with standard errors: height * width values each, in C order.
struct MeasuredMap {
    std::vector<float> value, error;
};

/// A level of light: one movie of constant light, or a part of a movie whose light rises or falls (a ramp).
struct LightLevel {
    std::string name;  ///< of the movie; for a part of a ramp, with its frames: "ramp.tif, frames 0:500"
    std::int64_t frames = 0;
    double mean_adu = 0, variance_adu2 = 0;  ///< medians over pixels; the mean is above the offset
    double light_spread = 0;                 ///< relative standard deviation of the light over the frames
    double drift = 0;      ///< share of the variance by slow changes that differed between pixels; 0: none
    bool of_ramp = false;  ///< whether this is a part of a ramp
    std::vector<float> sample_mean_adu, sample_variance_adu2;  ///< of the pixels CameraCalibration::sample
};

/// The change of the offset between dark movies, or between parts of one dark movie.
struct DarkChange {
    std::string lowest, highest;             ///< names of the movies or parts with the lowest and the highest mean
    double lowest_adu = 0, highest_adu = 0;  ///< means
    double share = 0;  ///< variance by changes of the offset over read variance; 0: no change beyond chance
};

/// Why a pixel is unusable. Files contain these numbers.
enum class PixelFault : std::uint8_t {
    none,
    hot,   ///< its dark signal is far above the offsets of other pixels
    dead,  ///< it has the same count in all dark frames, or does not respond to light
    noisy  ///< its read noise is far above that of other pixels; it may blink
};

/// The result of calibrate_camera(). Maps have height * width values in C order. `gain_e_per_adu`, `chi2`, `levels` and
/// `sample` are empty if no light was measured.
struct CameraCalibration {
    int width = 0, height = 0;  ///< px
    std::int64_t dark_frames = 0;
    MeasuredMap offset_adu, readvar_adu2;
    DarkChange dark_change;
    MeasuredMap gain_e_per_adu;      ///< before EM gain; the sensor's gain for pixels whose own is too uncertain
    std::vector<float> chi2;         ///< reduced chi-squared of each pixel's line; 0: unknown; empty with one level
    std::vector<PixelFault> faults;  ///< of each pixel
    std::vector<LightLevel> levels;
    /// Pixels (y * width + x) for a picture of variance over mean: up to 1,000 good ones, evenly over the sensor, then
    /// up to as many bad ones.
    std::vector<std::int64_t> sample;
    double em_gain = 1;                ///< above 1: an EMCCD
    double sensor_readvar_adu2 = 0;    ///< of a typical pixel: the median, corrected for its bias with few frames
    double error_factor = 1;           ///< factor by which misfits of the line increased `sensor_gain_error`; 1: none
    double sensor_gain = 0;            ///< e-/ADU: weighted mean over pixels, or the gain that was given; 0: unknown
    double sensor_gain_error = 0;      ///< its standard error; 0 if the gain was given
    double pixel_gain_error = 0;       ///< median relative standard error of the gain of a pixel
    double gain_spread = 0;            ///< relative standard deviation of the true gains over the sensor
    double mean_chi2 = 0;              ///< mean of `chi2` over good pixels
    std::int64_t own_gains = 0;        ///< number of pixels with a gain of their own
    std::int64_t saturated = 0;        ///< number of excluded pairs of a pixel and a level, because of saturation
    double expected_false_alarms = 0;  ///< maximum expected number of good pixels in `faults`

    /// Returns the gain for which variance over mean has the slope 1. The EM register of an EMCCD multiplies the shot
    /// noise by an excess factor of 2.
    double gain_per_slope() const { return em_gain > 1 ? 2 * em_gain : 1; }
    /// Returns the number of pixels with this fault.
    std::int64_t count(PixelFault fault) const { return std::count(faults.begin(), faults.end(), fault); }
};

}  // namespace glint
