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
    double gain_e_per_adu = 0;  ///< where there is no light; 0: unknown
    double em_gain = 0;         ///< of an EMCCD's register; 1: none; 0: as the movies' metadata say, else none
    Progress progress;          ///< frames of all movies
    const StopFlag* stop = nullptr;
    std::vector<Movie*> ramps = {};  ///< light that rises or falls by half and more: up to ten levels each
};

/// Offset and read variance of each pixel from `dark`, its gain from the variance over the mean of each movie of `light`
/// and each level of the ramps (eq. 12.1 to 12.6). Slow changes of the light do not change the gain. Each movie is read once,
/// in blocks, by all threads; needs 13 bytes a pixel for each level, and up to 49 for the one that is read. The
/// result does not depend on the number of threads. Throws InputError: fewer than 2 frames (a ramp: 20), different sizes, light that
/// is not brighter than the dark, a ramp that is constant, movies that are saturated, dark movies whose offset changes more than
/// read noise does, variances that miss their line by so much that the gain's error is above a tenth, metadata with different EM
/// gains; Cancelled.
CameraCalibration calibrate_camera(Movie& dark, const std::vector<Movie*>& light,
                                   const CalibrateCameraOptions& options = {});

/// Sentences for the user on what makes a calibration doubtful: pixels without any noise in the dark, light that was not steady,
/// variances that miss their line, an offset that changes over the dark frames.
/// Empty where nothing does.
std::vector<std::string> calibration_warnings(const CameraCalibration& calibration);

}  // namespace glint
