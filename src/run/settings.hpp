// The settings of a run: its fingerprint, and how the file that it wrote tells it.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "glint/camera.hpp"
#include "glint/movie.hpp"
#include "pipeline/job.hpp"
#include "run/fingerprint.hpp"

namespace glint {

/// Of a job (docs/command_line.md, "Stopping and resuming"). Reads a few frames of the movie; of one whose end is not
/// known, the first.
Fingerprint fingerprint_of(Movie& movie, const Camera& camera, const Job& job);

/// A line of YAML for the history of the result. Without what says how the result was computed and not which one was
/// asked for (version, instruction set).
std::string settings_text(const Fingerprint& fingerprint);

/// What `settings_text` put into the file; nothing where the file says nothing (a .csv cannot).
std::optional<Fingerprint> settings_of(const std::filesystem::path& file);

}  // namespace glint
