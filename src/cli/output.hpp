// Not to overwrite what somebody may want to keep.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>

namespace glint::cli {

void add_overwrite_flag(CLI::App& app, bool& overwrite);

/// Throws OptionError when the output exists and `overwrite` is false.
void refuse_existing(const std::filesystem::path& out, bool overwrite);

}  // namespace glint::cli
