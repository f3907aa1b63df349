// The picture of a camera's calibration: its maps, its bad pixels and its photon transfer curve, drawn by gnuplot.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "glint/camera_calibration.hpp"
#include "glint/if_exists.hpp"
#include "glint/progress.hpp"

namespace glint::cli {

inline const std::vector<std::string> plot_endings{".png", ".svg", ".pdf"};

/// Throws OptionError for another ending, and where gnuplot is not installed.
void check_plot(const std::filesystem::path& picture);

/// gnuplot's commands and the data that they show; maps are means over squares where they are large.
std::string calibration_script(const CameraCalibration& calibration);

/// Returns why there is no picture; empty where it was drawn. Throws Cancelled after a stop, OutputError.
std::string plot_calibration(const CameraCalibration& calibration, const std::filesystem::path& picture,
                             IfExists if_exists, const StopFlag& stop);

}  // namespace glint::cli
