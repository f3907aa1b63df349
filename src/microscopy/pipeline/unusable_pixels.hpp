// Pixels of a spot's window that contain no information about it: saturated pixels, and hits of a single pixel, for
// example by cosmic rays.
// SPDX-License-Identifier: MIT
#pragma once

#include "pipeline/found_spots.hpp"

namespace glint {

/// Sets the unusable pixels to NaN in all windows of their frame, so that fits exclude them, and sets the status of the
/// affected rows of `found.fits` to bad_input. Fills `found.saturated` and `found.hit`. `found.fits` must have a row
/// for each window. Used for CPU and GPU.
void leave_out_unusable(const LocalizeJob& job, FoundSpots& found);

/// Returns the part of a row's light that is in saturated pixels of its window.
double saturated_light(const LocalizeJob& job, const FoundSpots& found, std::size_t row);

/// Beyond this share, too much of a molecule's light is unknown.
constexpr double max_saturated_light = 0.5;

}  // namespace glint
