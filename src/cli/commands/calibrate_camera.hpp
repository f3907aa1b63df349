// `glint calibrate camera`, a subcommand of `glint calibrate`: what it prints, and the picture of a calibration, drawn
// by gnuplot.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "glint/camera_calibration.hpp"
#include "glint/if_exists.hpp"
#include "glint/progress.hpp"

namespace glint::cli {

Command add_calibrate_camera(CLI::App& group);

/// What was written, and told before.
struct CalibrationFiles {
    std::string camera, plot;  ///< plot empty: there is none
    double pixel_nm = 0;       ///< in the camera's file; 0: unknown
    bool pixel_of_metadata = false;
    std::vector<std::string> warnings;
};

void print_calibration(const CameraCalibration& calibration, const CalibrationFiles& files, bool json);

inline const std::vector<std::string> plot_endings{".png", ".svg", ".pdf"};

/// Throws OptionError for another ending, and where gnuplot is not installed.
void check_plot(const std::filesystem::path& picture);

/// gnuplot's commands and the data that they show; maps are means over squares where they are large.
std::string calibration_script(const CameraCalibration& calibration);

/// Returns why there is no picture; empty where it was drawn. Throws Cancelled after a stop, OutputError.
std::string plot_calibration(const CameraCalibration& calibration, const std::filesystem::path& picture,
                             IfExists if_exists, const StopFlag& stop);

}  // namespace glint::cli
