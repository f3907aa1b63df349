// Calibration of a camera from dark movies and movies of constant light (docs/theory.md, section 12).
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
    Progress progress;          ///< frames of all movies
    const StopFlag* stop = nullptr;
};

/// Offset and read variance of each pixel from `dark`, its gain from the variance over the mean of each movie of `light`
/// (eq. 12.1 to 12.4). Each movie is read once, in blocks, by all threads; needs 16 bytes a pixel for each movie. The
/// result does not depend on the number of threads. Throws InputError: fewer than 2 frames, different sizes, light that
/// is not brighter than the dark, movies that are saturated; Cancelled.
CameraCalibration calibrate_camera(Movie& dark, const std::vector<Movie*>& light,
                                   const CalibrateCameraOptions& options = {});

/// Sentences for the user on what makes a calibration doubtful: pixels without any noise in the dark, variances that miss their line.
/// Empty where nothing does.
std::vector<std::string> calibration_warnings(const CameraCalibration& calibration);

}  // namespace glint
