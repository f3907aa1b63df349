// What some frames of a movie show about the camera's pixels: the count at which they saturate, and defective pixels.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "glint/camera.hpp"
#include "glint/movie.hpp"
#include "glint/psf.hpp"

namespace glint {

struct PixelSurvey {
    int frames = 0;             ///< number of frames read; 0: no survey
    double saturation_adu = 0;  ///< the count at which pixels saturate; 0: none found
    /// Pixels that are brighter or darker than their neighbours in most frames, in a way that no lens can cause. As row
    /// * width + column, ascending. Excludes pixels that the camera masks already.
    std::vector<std::uint32_t> defective;
    /// The share of deviating pixels if they are too many to be single defects; `defective` is then empty.
    double patterned_share = 0;
};

/// Reads 8 to 32 frames spread over `frames`, fewer of large frames. Skips unreadable frames. `filter`: of the PSF. The
/// result is the same for any number of threads (docs/explanation/theory.md, section 2).
PixelSurvey survey_pixels(Movie& movie, const FrameRange& frames, const CameraView& camera, const MatchedFilter& filter,
                          int threads);

/// Returns `camera` with these pixels masked as well; `width` and `height` are the movie's.
Camera with_masked(Camera camera, const std::vector<std::uint32_t>& pixels, int width, int height);

/// Returns the minimum light of the third brightest of the eight neighbours of a spot's brightest pixel, relative to
/// that pixel, for any spot position within the pixel. Defects may touch up to two other defects.
double min_light_beside(double width_px);

/// Returns the width of the narrowest spot of a lens with about that width. Allows for a given width that is far too
/// large.
double narrowest_width_px(const MatchedFilter& filter);

}  // namespace glint
