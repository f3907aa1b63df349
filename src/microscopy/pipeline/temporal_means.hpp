// Light of each pixel that is present in all frames of a movie: means over a sample of frames, without blinking
// molecules.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "glint/movie.hpp"
#include "pipeline/localize_job.hpp"

namespace glint {

/// Photoelectrons of each pixel (height * width). Frames are scaled to the mean level of all frames, in case the light
/// fades. A pixel's mean excludes frames in which it is too bright for its low level and the camera's noise. The same
/// holds if a pixel within `reach_px` is too bright.
struct TemporalMeans {
    std::vector<float> all;
    std::vector<float> odd, even;  ///< of every other frame: light in both is always present
    /// of the first and the second half of the frames, with their own levels; empty unless requested
    std::vector<float> early, late;
    std::vector<float> plain;  ///< of all frames, including molecules
    /// nonzero if less than a quarter of the frames remains; all other means are 0 then
    std::vector<std::uint8_t> unsteady;
};

/// Averages `frames` frames, evenly spread over the job's frames. The result is the same for any number of threads.
/// Needs at most about 128 MB for counts, plus maps. Skips unreadable frames.
TemporalMeans temporal_means(Movie& movie, const LocalizeJob& job, std::int64_t frames, int reach_px, bool with_halves);

}  // namespace glint
