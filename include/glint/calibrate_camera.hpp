// Calibration of a camera from dark movies and movies of constant light (docs/explanation/theory.md, section 12).
//
//     const auto dark = glint::open_movie("dark.tif"), dim = glint::open_movie("dim.tif");
//     const auto bright = glint::open_movie("bright.tif");
//     const glint::CameraCalibration measured = glint::calibrate_camera(*dark, {dim.get(), bright.get()});
//     std::printf("gain %.3f +- %.3f e-/ADU\n", measured.sensor_gain, measured.sensor_gain_error);
//     for (const std::string& warning : glint::calibration_warnings(measured)) std::puts(warning.c_str());
//     glint::write_camera("camera.toml", measured, 100);  // pixels of 100 nm in the sample
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "glint/camera_calibration.hpp"
#include "glint/movie.hpp"
#include "glint/progress.hpp"

namespace glint {

/// Options of calibrate_camera().
struct CalibrateCameraOptions {
    double gain_e_per_adu = 0;  ///< the gain if there are no light movies; 0: unknown
    double em_gain = 0;         ///< of an EMCCD's register; 1: no register; 0: from the movies' metadata, else 1
    Progress progress;          ///< counts the frames of all movies
    const StopFlag* stop = nullptr;
    std::vector<Movie*> ramps = {};  ///< not owned; light that rises or falls by at least half; up to ten levels each
};

/// Measures a camera by the photon transfer method. `dark` gives the offset and the read variance of each pixel. The
/// gain is the slope of variance over mean of each movie of `light` and each level of the ramps (eq. 12.1 to 12.6).
/// Slow changes of the light do not change the gain.
///
/// Reads each movie once, in blocks, by all threads. Does not own the movies. Needs 13 bytes per pixel for each level,
/// and up to 49 for the level that is being read. The result does not depend on the number of threads.
///
/// Returns the maps with their standard errors. Throws Cancelled after a stop, and InputError for
/// - a movie that cannot be read,
/// - fewer than 2 frames (a ramp: 20), or movies of different sizes,
/// - light that is not brighter than the dark, or a constant ramp,
/// - saturated movies, or a variance that does not rise with the mean,
/// - a dark offset that changes by more than the read noise,
/// - variances so far from their line that the gain's relative error exceeds 0.1, or
/// - metadata with different EM gains.
CameraCalibration calibrate_camera(Movie& dark, const std::vector<Movie*>& light,
                                   const CalibrateCameraOptions& options = {});

/// Returns a warning for each of these problems; empty if there are none:
/// - pixels without any noise in the dark
/// - an offset that changes over the dark frames
/// - light that was not steady
/// - variances that miss their line
std::vector<std::string> calibration_warnings(const CameraCalibration& calibration);

}  // namespace glint
