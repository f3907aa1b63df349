// What a movie's pixels have in all of its frames: means over a sample of frames, without the molecules that come and
// go.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "glint/movie.hpp"
#include "pipeline/localize_job.hpp"

namespace glint {

/// Photoelectrons of each pixel (height * width). Frames are scaled to the mean level of all, in case the light fades.
/// A pixel's mean leaves out the frames in which it, or a pixel within `reach_px` of it, is brighter than the camera's
/// noise on its low level explains.
struct TemporalMeans {
    std::vector<float> all;
    std::vector<float> odd, even;        ///< of every other frame: what both have is there all the time
    std::vector<float> early, late;      ///< of the halves of the frames, with their own levels; empty unless asked for
    std::vector<float> plain;            ///< of all frames, with what comes and goes
    std::vector<std::uint8_t> unsteady;  ///< nonzero if less than a quarter of the frames is left; all means are 0 then
};

/// Of `frames` frames, evenly spread over the job's. The same for any number of threads; needs about 128 MB at most for
/// counts, and maps. Frames that cannot be read are passed over.
TemporalMeans temporal_means(Movie& movie, const LocalizeJob& job, std::int64_t frames, int reach_px, bool with_halves);

}  // namespace glint
