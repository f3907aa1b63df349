// A movie with the camera, the PSF and the options that it is localized with.
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

/// As a user describes it.
struct LocalizeSetup {
    MovieChoice choice;
    std::string frames;  ///< "BEGIN:END"
    CameraSetup camera;
    PsfSetup psf;
    LocalizeOptions options;  ///< but what the others say
};

/// A movie that is open, whose camera and options are complete.
struct OpenedTask {
    std::unique_ptr<Movie> movie;
    CameraFacts facts;
    LocalizeOptions options;
};

/// Throws OptionError for an option that would be ignored beside the others.
void require_used(const LocalizeOptions& options);

/// Notes what is missing of camera and PSF, besides what `missing` has.
CameraFacts complete_facts(const LocalizeSetup& setup, const MovieInfo& movie, MissingOptions& missing,
                           bool pixel_size_needed = true);
/// How values that are missing may be estimated; nothing where they may not be.
std::string advice_on(const MissingOptions& missing, const std::string& movie);

/// With numbers in place of word_auto, and LocalizeOptions::estimated that says so. Without the word nothing is read.
/// Throws OptionError where the movie does not tell a value that is wanted.
LocalizeSetup with_estimates(const LocalizeSetup& setup, Movie& movie, const RunMessages& messages,
                             const StopFlag* stop);

/// Camera and options of a movie that `setup`, without estimates to make, describes; none of the files that describe them may be one of
/// `outputs`.
OpenedTask completed(std::unique_ptr<Movie> movie, const LocalizeSetup& setup, CameraFacts facts,
                     const std::vector<std::filesystem::path>& outputs);

/// What was found, fitted, left out and kept, and what the noise says.
nlohmann::ordered_json counts_json(const LocalizeResult& result, const LocalizeOptions& options);
/// Which value of the camera is likeliest wrong, by the movie's noise; it is read again for that, and only where the noise check
/// differs from 1 by more than chance. Else empty.
std::string mistake_of(Movie& movie, const Camera& camera, const LocalizeResult& result, const StopFlag* stop);
std::string mistake_of(Movie& movie, const Camera& camera, const Estimate& noise_check, const StopFlag* stop);

}  // namespace glint
