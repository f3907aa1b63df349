// The edge of a pixel in the sample, from metadata that say its width and its height.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/movie.hpp"

namespace glint {

/// Sets the movie's pixel size; adds a warning where pixels are not square. A size outside smallest_pixel_nm to largest_pixel_nm is
/// not calibrated, and leaves none.
void set_pixel_size(double width_nm, double height_nm, MovieInfo& info);

}  // namespace glint
