// What a movie says about a camera that is given for it: where on the maps it lies, and whether the pixel sizes agree.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "glint/camera.hpp"
#include "glint/movie.hpp"

namespace glint {

/// For a camera without a given corner (roi_x, roi_y): throws OptionError if its maps have more pixels than the
/// movie, which may then lie anywhere on them. A movie of unknown size (0) is accepted.
void require_known_corner(const Camera& camera, const MovieInfo& movie);

/// The same for ROIs of a movie whose size is not known: they reach from its first pixel over `width` x `height` px.
void require_known_corner_of_rois(const Camera& camera, int width, int height, const std::string& name);

/// Returns a warning if the movie's metadata have another pixel size than the one in use. Empty if they agree to 1
/// %, or have none.
std::string pixel_size_contradiction(const MovieInfo& movie, double pixel_size_nm);

}  // namespace glint
