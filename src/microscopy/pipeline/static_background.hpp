// Background that is there in all frames and has structure: known light in detection and fits (theory.md, section 5).
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "glint/localize.hpp"
#include "glint/movie.hpp"
#include "pipeline/localize_job.hpp"

namespace glint {

/// What is measured, and the light of each pixel (height * width, e-, >= 0); empty if a flat background suffices.
struct MeasuredBackground {
    StaticBackground found;
    std::vector<float> light_e;
};

/// From up to 256 frames of a movie whose end is known, always the same ones. Spots of the PSF's width and places that
/// are bright only in a part of the frames are no background: what surrounds them continues there.
MeasuredBackground measure_background(Movie& movie, const LocalizeJob& job);

/// A warning for the user if the structure changes over the movie by more than the noise of a frame. Else empty.
std::string background_warning(const StaticBackground& background);

}  // namespace glint
