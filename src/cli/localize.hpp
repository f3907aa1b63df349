// What `glint localize` was asked, for the files that do it.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/camera_flags.hpp"
#include "cli/console.hpp"
#include "cli/psf_flags.hpp"
#include "glint/localize.hpp"

namespace glint::cli {

struct LocalizeFlags {
    std::vector<std::string> movies;
    std::string out, frames;
    bool concat = false;
    std::optional<std::int64_t> preview_frame;
    CameraFlags camera;
    PsfFlags psf;
    BackendFlags backend;
    LocalizeOptions options;  ///< roi_size, threshold, fit, threads, keep_failed, resume, overwrite
    ConsoleFlags console;
};

/// The movies as one, and a command line that localizes them (completed in error messages).
std::unique_ptr<Movie> open_movies(const std::vector<std::string>& paths);
std::string example_of(const LocalizeFlags& flags);

/// `--preview FRAME`: a picture of the frame with the spots that the detection finds circled.
int preview(const LocalizeFlags& flags);

}  // namespace glint::cli
