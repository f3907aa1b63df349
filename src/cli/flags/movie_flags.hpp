// Flags that describe a movie: channel, z plane, position and region in its file, and its camera.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "glint/inspect.hpp"
#include "glint/movie_choice.hpp"
#include "glint/workflow.hpp"
#include "workflow/camera_setup.hpp"

namespace glint::cli {

void add_movie_flags(CLI::App& app, MovieChoice& choice);

/// Adds --region. `region` is the text of a PixelRegion, "X,Y,W,H".
void add_region_flag(CLI::App& app, std::string& region);

/// Returns the flags as they were given, for a command line: " --channel 1 --z 3".
std::string as_given(const MovieChoice& choice);

void add_camera_flags(CLI::App& app, CameraSetup& flags);
/// Lets --offset, --gain and --sigma accept the word auto.
void allow_auto(CLI::App& app);
/// Adds the same flags for `glint inspect`: the values that the user knows.
void add_known_camera_flags(CLI::App& app, CameraSetup& flags);
/// Returns the known values for an inspection. The EM gain may come from the metadata.
InspectOptions inspect_options(const CameraSetup& flags, const MovieInfo& movie);

/// Returns the flags as they were given, for a command line: " --pixel-size 100nm --offset 100 --gain 0.5".
std::string as_given(const CameraSetup& flags);

/// Sets the values of --camera for an inspection, instead of inspect_options().
void take_camera(const CameraFacts& facts, InspectOptions& options);

/// Adds only --pixel-size, for commands that need no other value of the camera.
void add_pixel_size_flag(CLI::App& app, std::string& text);

}  // namespace glint::cli
