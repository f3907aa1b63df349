// Pixels of a spot's window that say nothing about it: saturated ones, and hits of a single pixel, as cosmic rays make them.
// SPDX-License-Identifier: MIT
#pragma once

#include "pipeline/found_spots.hpp"

namespace glint {

/// Makes these pixels NaN in all windows of their frame, which a fit leaves out, and the rows of `found.fits` bad_input there;
/// fills `found.saturated` and `found.hit`. `found.fits` has a row for each window. Alike for CPU and GPU.
void leave_out_unusable(const LocalizeJob& job, FoundSpots& found);

/// The part of a row's light that is in saturated pixels of its window.
double saturated_light(const LocalizeJob& job, const FoundSpots& found, std::size_t row);

/// From where on too much of a molecule's light is unknown.
constexpr double most_saturated_light = 0.5;

}  // namespace glint
