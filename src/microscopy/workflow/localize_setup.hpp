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
/// Returns how missing values may be estimated; empty if they may not be.
std::string advice_on(const MissingOptions& missing, const std::string& movie);

/// Returns the setup with numbers instead of word_auto, and LocalizeOptions::estimated that names them. Without the
/// word nothing is read. Throws OptionError if a value cannot be estimated from the movie.
LocalizeSetup with_estimates(const LocalizeSetup& setup, Movie& movie, const RunMessages& messages,
                             const StopFlag* stop);

/// Returns camera and options of the movie that `setup` describes, which has no values left to estimate. Throws if
/// a file that describes them is one of `outputs`.
OpenedTask completed(std::unique_ptr<Movie> movie, const LocalizeSetup& setup, CameraFacts facts,
                     const std::vector<std::filesystem::path>& outputs);

/// What was found, fitted, left out and kept, and what the noise says.
nlohmann::ordered_json counts_json(const LocalizeResult& result, const LocalizeOptions& options);
/// Returns which value of the camera is most likely wrong, by the movie's noise; else empty. Reads the movie again,
/// but only if the noise check differs from 1 by more than chance.
std::string mistake_of(Movie& movie, const Camera& camera, const LocalizeResult& result, const StopFlag* stop);
std::string mistake_of(Movie& movie, const Camera& camera, const Estimate& noise_check, const StopFlag* stop);

}  // namespace glint
