// Flags that describe a movie: what of a file it is (channel, z plane, position, region), and its camera.
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

/// `region`: text of PixelRegion, "X,Y,W,H".
void add_region_flag(CLI::App& app, std::string& region);

/// The flags as they were given, for a command to go on with: " --channel 1 --z 3".
std::string as_given(const MovieChoice& choice);

void add_camera_flags(CLI::App& app, CameraSetup& flags);
/// Lets --offset, --gain and --sigma take the word auto.
void allow_auto(CLI::App& app);
/// The same for a movie that is to be inspected, of which they are what is known.
void add_known_camera_flags(CLI::App& app, CameraSetup& flags);
/// Of these, those that a movie's inspection is told; the EM gain may be the metadata's.
InspectOptions inspect_options(const CameraSetup& flags, const MovieInfo& movie);

/// The flags as they were given, for a command to go on with: " --pixel-size 100nm --offset 100 --gain 0.5".
std::string as_given(const CameraSetup& flags);

/// For an inspection with --camera: what it says, instead of inspect_options.
void take_camera(const CameraFacts& facts, InspectOptions& options);

/// --pixel-size alone, for commands that need nothing else of the camera.
void add_pixel_size_flag(CLI::App& app, std::string& text);

}  // namespace glint::cli
