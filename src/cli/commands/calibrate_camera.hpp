// `glint calibrate camera`, a subcommand of `glint calibrate`: its summary, and the picture that gnuplot draws.
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

/// The files that were written, and the warnings that were printed before.
struct CalibrationFiles {
    std::string camera, plot;  ///< plot is empty if there is none
    double pixel_nm = 0;       ///< in the camera's file; 0 if unknown
    bool pixel_of_metadata = false;
    std::vector<std::string> warnings;
};

void print_calibration(const CameraCalibration& calibration, const CalibrationFiles& files, bool json);

inline const std::vector<std::string> plot_endings{".png", ".svg", ".pdf"};

/// Throws OptionError if the file has another ending, or if gnuplot is not installed. `instead`: what else can draw it.
void check_plot(const std::filesystem::path& picture, const std::string& instead);

/// Draws a script that begins with script_of_plot(name, ...). Returns why there is no picture; empty if it was drawn.
/// Throws Cancelled after a stop, and OutputError.
std::string draw_script(const std::string& script, const std::string& name, const std::filesystem::path& picture,
                        IfExists if_exists, const StopFlag& stop);

/// Returns gnuplot's commands and the data that they show. Large maps are averaged over squares.
std::string calibration_script(const CameraCalibration& calibration);

/// Returns why there is no picture; empty if it was drawn. Throws Cancelled after a stop, and OutputError.
std::string plot_calibration(const CameraCalibration& calibration, const std::filesystem::path& picture,
                             IfExists if_exists, const StopFlag& stop);

}  // namespace glint::cli
