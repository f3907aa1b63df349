// The photon transfer curve, each pixel's line of variance over mean, and the bad pixels that it shows (theory.md,
// section 12).
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/frame_statistics.hpp"
#include "analysis/light_levels.hpp"
#include "glint/camera_calibration.hpp"

namespace glint {

/// A pixel's slope in ADU per photoelectron, with its standard error and that of a typical pixel; NaN where it is unknown.
struct PixelLine {
    double slope = 0, error = 0, typical_error = 0, chi2 = 0;
};

/// What light showed: each pixel's line, the sensor's slope, and the mean above the offset of the brightest level.
struct LightResponse {
    const std::vector<PixelLine>& lines;
    double slope;
    const std::vector<float>& light_adu;
    double frames;
};

/// Fills `faults` and `expected_false_alarms` of `out`, whose size is known. `light` null: none was measured.
void find_faults(const FrameStatistics& dark, const LightResponse* light, CameraCalibration& out);

/// A level with the estimate of the variance that all levels share.
struct MeasuredLevel {
    const Level& level;
    const LevelNoise& noise;
};

/// Variance against mean: the dark frames and the levels, by one estimate of the variance.
struct TransferCurve {
    LevelNoise dark;
    double typical_readvar = 0;  ///< ADU^2
    bool multiplied = false;     ///< by an EM register
    LightLevel dark_told;
    std::vector<MeasuredLevel> levels;
};

/// The read variance of a typical pixel, ADU^2 (eq. 12.7): of few frames, by groups of pixels, whose means are finer than whole counts.
double typical_readvar(const FrameStatistics& dark);

/// By differences of neighbouring frames, if one level needs them; else by all frames, whose error is less. `levels` must outlive it.
TransferCurve transfer_curve(const FrameStatistics& dark, const std::vector<Level>& levels, bool multiplied);

/// By weighted least squares, with weights for a line with `slope` (eq. 12.3).
std::vector<PixelLine> lines_of(const TransferCurve& curve, double slope);

/// By which factor misfits that the good pixels have in common make the error of the sensor's slope larger; 1: they are chance.
double widening(const TransferCurve& curve, double slope, const std::vector<PixelFault>& faults);

}  // namespace glint
