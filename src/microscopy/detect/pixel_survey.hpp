// What some frames of a movie show about the camera's pixels: at which count they saturate, and which are defective.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "glint/camera.hpp"
#include "glint/movie.hpp"
#include "glint/psf.hpp"

namespace glint {

struct PixelSurvey {
    int frames = 0;             ///< that were read; 0: no survey
    double saturation_adu = 0;  ///< the count at which pixels saturate; 0: none is seen
    /// Pixels that are brighter or darker than their neighbours in most frames, in a way that no lens makes: row *
    /// width + column, ascending. Those that the camera masks already are not among them.
    std::vector<std::uint32_t> defective;
    /// The share of pixels that stand out if they are too many to be single defects: then `defective` is empty.
    double patterned_share = 0;
};

/// Reads 8 to 32 frames spread over `frames`, the fewer the larger they are; unreadable ones are passed over. `filter`:
/// of the PSF. The result is the same for any number of threads (docs/explanation/theory.md, section 2).
PixelSurvey survey_pixels(Movie& movie, const FrameRange& frames, const CameraView& camera, const MatchedFilter& filter,
                          int threads);

/// `camera` with these pixels of a movie of that size masked as well.
Camera with_masked(Camera camera, const std::vector<std::uint32_t>& pixels, int width, int height);

/// Which part of the light in its brightest pixel the third brightest of the eight around has at least, for a spot
/// anywhere within that pixel. Defects may touch up to two others.
double least_light_beside(double width_px);

/// The width of the narrowest spot that a lens of about that width may make. A width far too large may have been given.
double narrowest_width_px(const MatchedFilter& filter);

}  // namespace glint
