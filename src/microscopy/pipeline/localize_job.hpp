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
    FrameRange frames = {};   ///< to unknown_end as long as the movie's frames are unknown
    Localizations like = {};  ///< one row: which columns the output has; and its metadata
    double duplicate_radius_px = 0;
    float stay_px = 0;  ///< a fit may end this far from its spot's pixel, beyond its standard error
    int threads = 1;
    LoneSpots lone = {};
    PixelSurvey pixels = {};                                     ///< `camera` masks its defective ones
    float saturated_e = std::numeric_limits<float>::infinity();  ///< fewest photoelectrons of a saturated pixel
    StaticBackground background = {};
    /// Light of each pixel (height * width, e-) that `camera` takes out of the photoelectrons; null: none.
    std::shared_ptr<const std::vector<float>> known_light = {};
    std::string made_with = {};  ///< lines of the history: PSF and camera
};

constexpr int most_neighbor_rounds = 20;

/// Fits of one molecule a window on this thread, of blocks that run in parallel; without a stop or progress of their
/// own.
FitOptions single_fits(const LocalizeJob& job);
/// How a job's spots are found.
DetectOptions detect_options(const LocalizeJob& job);

/// Sets what follows from the PSF and the size of pixels: duplicate_radius_px, stay_px.
void set_reach(LocalizeJob& job);

/// Sets the count at which pixels saturate; 0: none does.
void set_saturation(LocalizeJob& job, double saturation_adu);
/// Photoelectrons from which on a pixel (row * width + column) of such a job is saturated.
float saturated_from_e(const LocalizeJob& job, std::size_t pixel);

/// Throws OptionError for every option that the work would refuse later. With learn_misfit the usual
/// misfit is taken; prepare_job learns it. `pixels`: what was found of the camera's, whose defective ones are masked.
LocalizeJob make_job(const MovieInfo& movie, const Camera& camera, const LocalizeOptions& options,
                     const PixelSurvey& pixels = {});

/// Makes light known to detection and fits (height * width, e-, >= 0; empty: none). `background`: how it was measured.
void set_known_light(LocalizeJob& job, const MovieInfo& movie, const StaticBackground& background,
                     std::vector<float> light_e);

/// Adds the known light of its pixel to each row's background.
void add_known_light(const LocalizeJob& job, Localizations& rows);

/// Moves rows from a region's coordinates to those of the whole frames.
void move_to_whole_frames(const LocalizeJob& job, Localizations& rows);

/// Sets the end of a job that was made when it was not known. `movie` must know it by now.
void set_end(LocalizeJob& job, const MovieInfo& movie, std::int64_t end);

}  // namespace glint
