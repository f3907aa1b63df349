// Common to detection on the CPU and on GPUs: option checks and the default threshold.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/detect.hpp"

namespace glint {

/// Throws OptionError if a width or threshold is out of range.
void check(const DetectOptions& options);
/// Returns the threshold in standard deviations: the option's, or the camera's default.
float threshold_of(float excess_noise, const DetectOptions& options);
inline float threshold_of(const CameraView& camera, const DetectOptions& options) {
    return threshold_of(camera.excess_noise(), options);
}

}  // namespace glint
