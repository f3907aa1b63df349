// Structured background that is present in all frames: known light in detection and fits (theory.md, section 5).
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "glint/localize.hpp"
#include "glint/movie.hpp"
#include "pipeline/localize_job.hpp"

namespace glint {

/// The measurement, and the light of each pixel (height * width, e-, >= 0); empty if a flat background suffices.
struct MeasuredBackground {
    StaticBackground found;
    std::vector<float> light_e;
};

/// Measures up to 256 frames, always the same ones, of a movie whose end is known. Spots of the PSF's width, and pixels
/// that are bright only in part of the frames, do not count as background. They are filled from their surroundings.
MeasuredBackground measure_background(Movie& movie, const LocalizeJob& job);

/// Returns a warning for the user if the structure changes over the movie by more than the noise of a frame. Otherwise
/// empty.
std::string background_warning(const StaticBackground& background);

}  // namespace glint
