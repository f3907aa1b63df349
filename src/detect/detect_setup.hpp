// What every detection does first, wherever it runs: checks what was asked, and chooses what was left open.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/detect.hpp"

namespace glint {

/// Throws OptionError for a sigma or threshold out of range.
void check(const DetectOptions& options);
/// In standard deviations.
float threshold_of(const CameraView& camera, const DetectOptions& options);

}  // namespace glint
