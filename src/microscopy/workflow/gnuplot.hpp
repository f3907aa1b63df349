// Draws plots by gnuplot, if it is installed.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "glint/progress.hpp"

namespace glint {

/// Returns gnuplot's path, as found in PATH; empty if there is none.
std::string find_gnuplot();

/// Runs a program in `folder`, in its own process group, without a terminal. Returns why it failed: the last line of
/// its output, or that it exceeded `timeout_s` and was killed. Empty if it succeeded. Throws Cancelled after a stop.
std::string run_quietly(const std::vector<std::string>& words, const std::filesystem::path& folder, double timeout_s,
                        const StopFlag& stop);

/// Returns the first lines of a script that draws NAME.png. With `format` (png, svg or pdf) and `out`, a user can draw
/// it in another format. The size is that of the SVG; the PNG is 1.5 times as large.
std::string script_of_plot(const std::string& name, int width_px, int height_px);

/// Draws a script into `picture` with gnuplot. Both are names of files in `folder`. Returns why it failed; empty if the
/// picture is complete. Throws Cancelled after a stop.
std::string draw_plot(const std::string& gnuplot, const std::filesystem::path& folder, const std::string& script,
                      const std::string& picture, const std::string& format, const StopFlag& stop);

}  // namespace glint
