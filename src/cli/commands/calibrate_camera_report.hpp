// What `glint calibrate camera` prints.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "glint/camera_calibration.hpp"

namespace glint::cli {

/// What was written, and told before.
struct CalibrationFiles {
    std::string camera, plot;  ///< plot empty: there is none
    double pixel_nm = 0;       ///< in the camera's file; 0: unknown
    bool pixel_of_metadata = false;
    std::vector<std::string> warnings;
};

void print_calibration(const CameraCalibration& calibration, const CalibrationFiles& files, bool json);

}  // namespace glint::cli
