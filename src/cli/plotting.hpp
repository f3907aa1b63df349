// The picture that a command draws beside its result.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "cli/console.hpp"
#include "glint/if_exists.hpp"
#include "plot/write_figure.hpp"

namespace glint::cli {

/// Throws OptionError if the file of --plot has an ending of no picture. An empty name is none.
void check_plot(const std::string& file);

/// Draws a figure for --plot. If it cannot be written, warns, since the result itself exists: `result`, as in "the
/// measured PSF"; the warning also joins `warnings`. Returns the file; empty if there is none.
std::string draw_plot(const plots::Figure& figure, const std::string& file, IfExists if_exists,
                      const std::string& result, Console& console, std::vector<std::string>* warnings = nullptr);

}  // namespace glint::cli
