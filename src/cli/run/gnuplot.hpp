// Runs gnuplot, where it is installed.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "glint/progress.hpp"

namespace glint::cli {

/// Its path as PATH has it; empty where there is none.
std::string find_gnuplot();

/// Runs a program in a folder, in a process group of its own, without a terminal. Returns why it failed: its last words, or that it
/// lasted longer than `timeout_s` and was killed; empty where it succeeded. Throws Cancelled after a stop.
std::string run_quietly(const std::vector<std::string>& words, const std::filesystem::path& folder, double timeout_s,
                        const StopFlag& stop);

}  // namespace glint::cli
