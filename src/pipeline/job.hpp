// A localization job: checked options, the camera's part for the movie, and the layout of the output.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "glint/camera.hpp"
#include "glint/detect.hpp"
#include "glint/localize.hpp"

namespace glint {

/// Immutable while the work runs; shared by all threads.
struct Job {
    CameraView camera;
    LocalizeOptions options = {};
    FrameRange frames = {};   ///< to unknown_end as long as the movie's frames are unknown
    Localizations like = {};  ///< one row: which columns the output has; and its metadata
    double pixel_size_um = 0;
    double duplicate_radius_px = 0;
    float stay_px = 0;  ///< a fit may end this far from its spot's pixel, beyond its standard error
    int threads = 1;
    LoneSpots lone = {};
    StaticBackground background = {};
    /// Light of each pixel (height * width, e-) that `camera` takes out of the photoelectrons; null: none.
    std::shared_ptr<const std::vector<float>> known_light = {};
    std::string made_with = {};  ///< lines of the history: PSF and camera
};

constexpr int most_neighbor_rounds = 20;

/// How a job's spots are found.
DetectOptions detect_options(const Job& job);

/// Sets what follows from the PSF and the size of pixels: duplicate_radius_px, stay_px.
void set_reach(Job& job);

/// Throws OptionError for every option that the work would refuse later. With learn_misfit the usual
/// misfit is taken; prepare_job learns it.
Job make_job(const MovieInfo& movie, const Camera& camera, const LocalizeOptions& options);

/// Makes light known to detection and fits (height * width, e-, >= 0; empty: none). `background`: how it was measured.
void set_known_light(Job& job, const MovieInfo& movie, const StaticBackground& background, std::vector<float> light_e);

/// Adds the known light of its pixel to each row's background.
void add_known_light(const Job& job, Localizations& rows);

/// Sets the end of a job that was made when it was not known. `movie` must know it by now.
void set_end(Job& job, const MovieInfo& movie, std::int64_t end);

}  // namespace glint
