// The settings of a run, kept in the file that it wrote.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "pipeline/record_file.hpp"

namespace glint {

/// A line of YAML for the history of the result. Without what says how the result was computed and not which one was
/// asked for (version, instruction set).
std::string settings_text(const Fingerprint& fingerprint);

/// What `settings_text` put into the file; nothing where the file says nothing (a .csv cannot).
std::optional<Fingerprint> settings_of(const std::filesystem::path& file);

}  // namespace glint
