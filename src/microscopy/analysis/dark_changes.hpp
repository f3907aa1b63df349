// How much the offset changes over the dark frames of a calibration (docs/theory.md, section 12).
// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/frame_statistics.hpp"
#include "glint/camera_calibration.hpp"
#include "glint/movie.hpp"

namespace glint {

/// Between movies that were joined, or stretches of a single one. Throws InputError where the offset changes more than read noise
/// makes counts vary, since there is no one offset then.
DarkChange dark_change(const Movie& movie, const FrameStatistics& dark);

}  // namespace glint
