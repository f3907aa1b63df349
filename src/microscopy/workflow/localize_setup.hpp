// A movie, with the camera, the PSF and the options for localizing it.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "glint/inspect.hpp"
#include "glint/localize.hpp"
#include "glint/workflow.hpp"
#include "workflow/camera_setup.hpp"
#include "workflow/missing.hpp"
#include "workflow/psf_setup.hpp"

namespace glint {

/// The settings as a user describes them.
struct LocalizeSetup {
    MovieChoice choice;
    std::string frames;  ///< "BEGIN:END"
    CameraSetup camera;
    PsfSetup psf;
    LocalizeOptions options;  ///< except those that other members contain
};

/// An open movie with complete camera and options.
struct OpenedTask {
    std::unique_ptr<Movie> movie;
    CameraFacts facts;
    LocalizeOptions options;
};

/// Throws OptionError if an option would be ignored because of another.
void require_used(const LocalizeOptions& options);

/// Adds the missing values of camera and PSF to `missing`.
CameraFacts complete_facts(const LocalizeSetup& setup, const MovieInfo& movie, MissingOptions& missing,
                           bool pixel_size_needed = true);
/// Returns how missing values may be estimated; empty if they may not be.
std::string advice_on(const MissingOptions& missing, const std::string& movie);

/// Returns the setup with numbers instead of word_auto, and lists the estimated ones in LocalizeOptions::estimated.
/// Reads nothing if the setup does not contain the word. Throws OptionError if the movie does not determine a value.
LocalizeSetup with_estimates(const LocalizeSetup& setup, Movie& movie, const RunMessages& messages,
                             const StopFlag* stop);

/// Returns camera and options of the movie that `setup` describes, in which no values may be left to estimate. Throws
/// if a file that describes them is one of `outputs`.
OpenedTask completed(std::unique_ptr<Movie> movie, const LocalizeSetup& setup, CameraFacts facts,
                     const std::vector<std::filesystem::path>& outputs);

/// Returns the numbers of spots found, fitted, left out and kept, and the noise check.
nlohmann::ordered_json counts_json(const LocalizeResult& result, const LocalizeOptions& options);
/// Returns the camera value that is most likely wrong, judging by the movie's noise; empty if none is. Reads the movie
/// again, but only if the noise check differs from 1 by more than chance.
std::string mistake_of(Movie& movie, const Camera& camera, const LocalizeResult& result, const StopFlag* stop);
std::string mistake_of(Movie& movie, const Camera& camera, const Estimate& noise_check, const StopFlag* stop);

}  // namespace glint
