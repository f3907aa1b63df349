// The settings of a run: its fingerprint, and the copy in its output.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "glint/camera.hpp"
#include "glint/movie.hpp"
#include "pipeline/localize_job.hpp"
#include "run/record_file.hpp"

namespace glint {

/// Returns a hash of 16 frames, including the first and last: enough to distinguish movies, and quick to read. If
/// the movie's end is unknown, hashes the first frame.
std::string movie_content(Movie& movie);

/// Returns the fingerprint of a job (command_line.md, "Stopping and resuming"). Reads a few frames of the movie; only
/// the first if its end is unknown.
Fingerprint fingerprint_of(Movie& movie, const Camera& camera, const LocalizeJob& job);

/// Returns the remedy if only one of `then` and `now` is of a growing movie; else empty.
std::string advice_on_following(const Fingerprint& then, const Fingerprint& now);

/// Returns a line of YAML for the history of the result. Omits settings that describe how the result was computed
/// (version, instruction set) instead of which result was requested.
std::string settings_text(const Fingerprint& fingerprint);

/// Reads what `settings_text` wrote into the file; nullopt if the file has no settings (a .csv cannot).
std::optional<Fingerprint> settings_of(const std::filesystem::path& file);

}  // namespace glint
