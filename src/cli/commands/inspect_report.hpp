// The report of `glint inspect`.
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/console.hpp"
#include "cli/flags/movie_flags.hpp"
#include "glint/inspect.hpp"
#include "glint/movie_choice.hpp"

namespace glint::cli {

struct InspectFlags {
    std::string movie, sigma, frames;
    MovieChoice choice;
    CameraSetup camera;
    ConsoleFlags console;
};

/// An inspection with its options and camera.
struct Inspected {
    InspectOptions options;
    double pixel_size_nm = 0;  ///< 0 if unknown
    std::string sources;       ///< sources of the camera's values, with --camera
    Inspection result;
    std::string mistake;  ///< find_wrong_camera_value() if the noise contradicts the camera
};

/// Returns a sentence for each value of the metadata that the movie contradicts.
std::vector<std::string> metadata_warnings(const MovieInfo& movie, const Inspected& found);

nlohmann::ordered_json inspection_json(const InspectFlags& flags, const MovieInfo& movie, const Inspected& found);
void print_inspection(const InspectFlags& flags, const MovieInfo& movie, const Inspected& found);

}  // namespace glint::cli
