// Checks of a given camera against a movie: the position on the camera's maps, and the pixel size.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>

#include "glint/camera.hpp"
#include "glint/movie.hpp"
#include "glint/movie_region.hpp"
#include "glint/psf.hpp"

namespace glint {

/// Checks a camera without a given corner (roi_x, roi_y). Throws OptionError if its maps have more pixels than the
/// movie, which could then be anywhere on them. Accepts a movie of unknown size (0).
void require_known_corner(const Camera& camera, const MovieInfo& movie);

/// Like require_known_corner(), for ROIs of a movie of unknown size: they extend from its first pixel over `width` x
/// `height` px.
void require_known_corner_of_rois(const Camera& camera, int width, int height, const std::string& name);

/// Returns the place of the movie's pixel (0, 0) in the coordinates of a PsfField, px: the sensor's pixel if the camera
/// has maps, whose corner is known then; else the first pixel of the region. `region`: empty for whole frames.
std::array<double, 2> find_field_place(const Camera& camera, const PixelRegion& region);
/// Sets Psf::field_x_px and field_y_px to this place if the PSF changes over the field.
void place_in_field(const Camera& camera, const PixelRegion& region, Psf& psf);

/// Returns a warning if the movie's metadata contain another pixel size than the one in use. Empty if both agree to 1
/// %, or if the metadata contain none.
std::string pixel_size_contradiction(const MovieInfo& movie, double pixel_size_nm);

}  // namespace glint
