// Flags that choose what of a file is the movie: channel, z plane, position.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "glint/movie_choice.hpp"

namespace glint::cli {

void add_movie_flags(CLI::App& app, MovieChoice& choice);

/// `region`: text of PixelRegion, "X,Y,W,H".
void add_region_flag(CLI::App& app, std::string& region);

/// The flags as they were given, for a command to go on with: " --channel 1 --z 3".
std::string as_given(const MovieChoice& choice);

}  // namespace glint::cli
