// `glint calibrate camera`, a subcommand of `glint calibrate`: its summary and its picture.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "glint/camera_calibration.hpp"
#include "plot/figure.hpp"

namespace glint::cli {

Command add_calibrate_camera(CLI::App& group);

/// The files that were written, and the warnings that were printed before.
struct CalibrationFiles {
    std::string camera, plot;  ///< plot is empty if there is none
    double pixel_nm = 0;       ///< in the camera's file; 0 if unknown
    bool pixel_of_metadata = false;
    std::vector<std::string> warnings;
};

void print_calibration(const CameraCalibration& calibration, const CalibrationFiles& files, bool json);

/// Returns a figure. Large maps are averaged over squares.
plots::Figure calibration_figure(const CameraCalibration& calibration);

}  // namespace glint::cli
