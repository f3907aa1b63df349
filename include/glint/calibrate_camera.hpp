// Calibration of a camera from dark movies and movies of constant light (docs/explanation/theory.md, section 12).
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "glint/camera_calibration.hpp"
#include "glint/movie.hpp"
#include "glint/progress.hpp"

namespace glint {

struct CalibrateCameraOptions {
    double gain_e_per_adu = 0;  ///< the gain if there are no light movies; 0: unknown
    double em_gain = 0;         ///< of an EMCCD's register; 1: none; 0: from the movies' metadata, else none
    Progress progress;          ///< frames of all movies
    const StopFlag* stop = nullptr;
    std::vector<Movie*> ramps = {};  ///< light that rises or falls by half and more: up to ten levels each
};

/// Returns offset and read variance of each pixel from `dark`, and its gain from the variance over the mean of each
/// movie of `light` and each level of the ramps (eq. 12.1 to 12.6). Slow changes of the light do not change the
/// gain.
///
/// Each movie is read once, in blocks, by all threads. Needs 13 bytes per pixel for each level, and up to 49 for
/// the level being read. The result does not depend on the number of threads.
///
/// Throws Cancelled after a stop, and InputError for
/// - fewer than 2 frames (a ramp: 20), or different sizes,
/// - light that is not brighter than the dark, or a constant ramp,
/// - saturated movies,
/// - dark movies whose offset changes more than read noise does,
/// - variances so far from their line that the gain's error is above a tenth, or
/// - metadata with different EM gains.
CameraCalibration calibrate_camera(Movie& dark, const std::vector<Movie*>& light,
                                   const CalibrateCameraOptions& options = {});

/// Returns sentences for the user on what makes a calibration doubtful: pixels without any noise in the dark, light
/// that was not steady, variances that miss their line, an offset that changes over the dark frames. Empty if
/// nothing does.
std::vector<std::string> calibration_warnings(const CameraCalibration& calibration);

}  // namespace glint
