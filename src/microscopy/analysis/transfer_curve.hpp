// The photon transfer curve: each pixel's line of variance over mean, and the bad pixels that it reveals (theory.md,
// section 12).
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/frame_statistics.hpp"
#include "analysis/light_levels.hpp"
#include "glint/camera_calibration.hpp"

namespace glint {

/// A pixel's slope in ADU per photoelectron, its standard error, and the standard error of a typical pixel. NaN if
/// unknown.
struct PixelLine {
    double slope = 0, error = 0, typical_error = 0, chi2 = 0;
};

/// Results of the light levels: each pixel's line, the sensor's slope, and the brightest level's mean above the offset.
struct LightResponse {
    const std::vector<PixelLine>& lines;
    double slope;
    const std::vector<float>& light_adu;
    double frames;
};

/// Sets `faults` and `expected_false_alarms` of `out`, whose size must be set. `light` is null if none was measured.
void find_faults(const FrameStatistics& dark, const LightResponse* light, CameraCalibration& out);

/// A level and its noise, from the estimate of the variance that all levels share.
struct MeasuredLevel {
    const Level& level;
    const LevelNoise& noise;
};

/// Variance against mean for the dark frames and the levels, with the same estimate of the variance.
struct TransferCurve {
    LevelNoise dark;
    double typical_readvar = 0;  ///< ADU^2
    bool multiplied = false;     ///< by an EM register
    LightLevel dark_told;
    std::vector<MeasuredLevel> levels;
};

/// Returns the read variance of a typical pixel in ADU^2 (eq. 12.7). With few frames it averages over groups of pixels,
/// whose means have finer steps.
double typical_readvar(const FrameStatistics& dark);

/// Uses differences of neighbouring frames if one level needs them, and otherwise all frames, which is more precise.
/// `levels` must outlive the curve.
TransferCurve transfer_curve(const FrameStatistics& dark, const std::vector<Level>& levels, bool multiplied);

/// Fits each pixel's line by weighted least squares, with the weights of a line with `slope` (eq. 12.3).
std::vector<PixelLine> lines_of(const TransferCurve& curve, double slope);

/// Returns the factor by which misfits that good pixels share increase the error of the sensor's slope; 1 if they are
/// due to chance.
double widening(const TransferCurve& curve, double slope, const std::vector<PixelFault>& faults);

}  // namespace glint
