// A localization job: checked options, the camera's part for the movie, and the layout of the output.
// SPDX-License-Identifier: MIT
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "detect/pixel_survey.hpp"
#include "glint/camera.hpp"
#include "glint/detect.hpp"
#include "glint/localize.hpp"

namespace glint {

/// Immutable while the work runs; shared by all threads.
struct LocalizeJob {
    CameraView camera;
    LocalizeOptions options = {};
    FrameRange frames = {};   ///< ends at unknown_end while the movie's length is unknown
    Localizations like = {};  ///< one row: defines the columns of the output and its metadata
    double duplicate_radius_px = 0;
    float stay_px = 0;  ///< maximum distance of a fit from its spot's pixel, beyond its standard error
    int threads = 1;
    LoneSpots lone = {};
    PixelSurvey pixels = {};                                     ///< `camera` masks the defective pixels
    float saturated_e = std::numeric_limits<float>::infinity();  ///< minimum photoelectrons of a saturated pixel
    StaticBackground background = {};
    /// Light of each pixel (height * width, e-) that `camera` subtracts from the photoelectrons; null: none.
    std::shared_ptr<const std::vector<float>> known_light = {};
    std::string made_with = {};  ///< lines of the history: PSF and camera
};

constexpr int max_neighbor_rounds = 20;

/// Returns the options for fits of one molecule per window on this thread. Blocks run in parallel, so the fits have
/// neither a stop nor a progress callback.
FitOptions single_fits(const LocalizeJob& job);
/// Returns the options of the spot detection.
DetectOptions detect_options(const LocalizeJob& job);

/// Sets the values that follow from the PSF and the pixel size: duplicate_radius_px, stay_px.
void set_reach(LocalizeJob& job);

/// Sets the count at which pixels saturate; 0: none saturates.
void set_saturation(LocalizeJob& job, double saturation_adu);
/// Returns the photoelectrons from which on a pixel (row * width + column) of such a job is saturated.
float saturated_from_e(const LocalizeJob& job, std::size_t pixel);

/// Throws OptionError for every option that the work would refuse later. With learn_misfit, uses the default misfit;
/// prepare_job estimates it. `pixels`: survey of the camera's pixels, whose defective ones are masked.
LocalizeJob make_job(const MovieInfo& movie, const Camera& camera, const LocalizeOptions& options,
                     const PixelSurvey& pixels = {});

/// Sets the known light for detection and fits (height * width, e-, >= 0; empty: none). `background`: how it was
/// measured.
void set_known_light(LocalizeJob& job, const MovieInfo& movie, const StaticBackground& background,
                     std::vector<float> light_e);

/// Adds the known light of the row's pixel to each row's background.
void add_known_light(const LocalizeJob& job, Localizations& rows);

/// Converts rows from a region's coordinates to those of whole frames.
void move_to_whole_frames(const LocalizeJob& job, Localizations& rows);

/// Sets the end of a job that was created before the end was known. `movie` must know it by now.
void set_end(LocalizeJob& job, const MovieInfo& movie, std::int64_t end);

}  // namespace glint
