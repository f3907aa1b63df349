// Manual pages beside `glint completion`, for the program's own `help`.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace glint::cli {

/// `glint help --man COMMAND ...`: the manual page on stdout; without words that of the program. Returns the exit code.
int print_manual_page(CLI::App& program, const std::vector<std::string>& words);

}  // namespace glint::cli
