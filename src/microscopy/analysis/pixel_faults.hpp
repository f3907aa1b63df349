// Bad pixels of a camera's calibration (docs/theory.md, section 12).
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/frame_statistics.hpp"
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

}  // namespace glint
