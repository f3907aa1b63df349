// Pixels of a spot's window without information about it: saturated ones, and hits of a single pixel, as by cosmic
// rays.
// SPDX-License-Identifier: MIT
#pragma once

#include "pipeline/found_spots.hpp"

namespace glint {

/// Sets these pixels to NaN in all windows of their frame, so that fits leave them out, and sets the rows of
/// `found.fits` to bad_input there. Fills `found.saturated` and `found.hit`. `found.fits` has a row for each window.
/// For CPU and GPU.
void leave_out_unusable(const LocalizeJob& job, FoundSpots& found);

/// The part of a row's light that is in saturated pixels of its window.
double saturated_light(const LocalizeJob& job, const FoundSpots& found, std::size_t row);

/// From where on too much of a molecule's light is unknown.
constexpr double most_saturated_light = 0.5;

}  // namespace glint
