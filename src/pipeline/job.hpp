// A localization job: options checked, the camera cut to the movie, and the shape of what comes out.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/camera.hpp"
#include "glint/detect.hpp"
#include "glint/localize.hpp"

namespace glint {

/// Immutable while the work runs; shared by all threads.
struct Job {
    CameraView camera;
    LocalizeOptions options;
    FrameRange frames;   ///< to unknown_end as long as the movie's frames are unknown
    Localizations like;  ///< one row: which columns the output has; and its metadata
    double pixel_size_um = 0;
    double duplicate_radius_px = 0;
    float stay_px = 0;  ///< a fit stays this near to its spot's pixel, give or take its precision
    int threads = 1;
};

/// How a job's spots are found.
DetectOptions detect_options(const Job& job);

/// Throws OptionError for every option that the work would refuse later.
Job make_job(const MovieInfo& movie, const Camera& camera, const LocalizeOptions& options);

/// Of a job whose end was not known when it was made. `movie` knows it by now.
void set_end(Job& job, const MovieInfo& movie, std::int64_t end);

}  // namespace glint
