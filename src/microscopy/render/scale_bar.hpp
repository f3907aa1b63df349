// A scale bar with its length written above it.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "glint/picture.hpp"

namespace glint {

/// The length of the series 1, 2, 5, 10, ... nm closest to a sixth of a width.
double fitting_scale_bar_nm(double width_nm);

/// "500 nm", "2 µm".
std::string scale_bar_label(double length_nm);

/// Draws the bar into the lower right corner. `length_nm` as RenderOptions::scale_bar_nm; throws OptionError if a
/// requested bar is longer than the picture, or the pixel size is unknown.
void draw_scale_bar(RgbPicture& picture, double length_nm);

}  // namespace glint
