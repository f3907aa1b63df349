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
    double gain_e_per_adu = 0;  ///< gain to use if no light is measured; 0: unknown
    double em_gain = 0;         ///< of an EMCCD's register; 1: none; 0: from the movies' metadata, else none
    Progress progress;          ///< frames of all movies
    const StopFlag* stop = nullptr;
    std::vector<Movie*> ramps = {};  ///< light that rises or falls by half and more: up to ten levels each
};

/// Returns the offset and read variance of each pixel from `dark`, and its gain from the variance over the mean of each
/// movie of `light` and each level of the ramps (eq. 12.1 to 12.6). Slow changes of the light do not change the gain.
/// Reads each movie once, in blocks, by all threads. Needs 13 bytes a pixel for each level, and up to 49 for the
/// current level. The result does not depend on the number of threads. Throws Cancelled after a stop, and InputError if
/// - a movie has fewer than 2 frames (a ramp: 20), or the sizes differ,
/// - the light is not brighter than the dark, or a ramp is constant,
/// - a movie is saturated,
/// - the offset of the dark movie changes by more than the read noise,
/// - the variances deviate so much from their line that the gain's error is above a tenth, or
/// - the metadata contain different EM gains.
CameraCalibration calibrate_camera(Movie& dark, const std::vector<Movie*>& light,
                                   const CalibrateCameraOptions& options = {});

/// Returns warnings about a doubtful calibration, one sentence each. Empty if there are none. Causes are pixels without
/// noise in the dark, unsteady light, variances that deviate from their line, and an offset that changes over the dark
/// frames.
std::vector<std::string> calibration_warnings(const CameraCalibration& calibration);

}  // namespace glint
