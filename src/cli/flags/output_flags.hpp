// Output files on the command line: whether they may replace existing files, and their lines in a summary.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>

#include "cli/console.hpp"
#include "io/files/check_outputs.hpp"

namespace glint::cli {

void add_overwrite_flag(CLI::App& app, bool& overwrite);
/// Returns ".png" for "PICTURE.PNG".
std::string lower_extension(const std::filesystem::path& path);
/// Throws OptionError if the name does not end in .toml.
void require_toml(const std::filesystem::path& out);
inline IfExists if_exists(bool overwrite) { return overwrite ? IfExists::replace : IfExists::refuse; }

/// Adds a line on the rows that Picasso leaves out, if any.
void add_hidden_rows(Summary& summary, std::int64_t hidden);

}  // namespace glint::cli
