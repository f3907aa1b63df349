// `--follow` and `--stdin` of `glint localize`: movies that are still being written.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/console.hpp"
#include "glint/localize.hpp"
#include "glint/movie_choice.hpp"

namespace glint::cli {

struct FollowFlags {
    bool follow = false;
    double timeout_s = 30;
    std::vector<std::string> stdin_frames;  ///< "512x512", "uint16"; empty if not given

    bool growing() const { return follow || !stdin_frames.empty(); }
};

void add_follow_flags(CLI::App& app, FollowFlags& flags);

/// Throws OptionError if a flag cannot be combined with a growing movie. `unsuited` names the first such flag.
void require_suited(const FollowFlags& flags, const std::string& unsuited);

/// With --stdin, sets the movie to "stdin". Throws OptionError if other movies are given, and for "-" without --stdin.
void take_stdin_as_movie(const FollowFlags& flags, std::vector<std::string>& movies);

/// Returns the flags as they were given: " --stdin 512x512 uint16".
std::string as_given(const FollowFlags& flags);

std::unique_ptr<Movie> open_growing(const FollowFlags& flags, const std::vector<std::string>& movies,
                                    const MovieChoice& choice);

/// Localizes the movie, and prints a line of JSON each second. Sets `before_rerun` in `more`: whether the movie was
/// localized again after it had ended. `check_ended` is that of FollowOptions.
LocalizeResult follow_and_report(GrowingMovie& movie, const Camera& camera, const std::filesystem::path& out,
                                 const LocalizeOptions& options, const FollowFlags& flags, Console& console,
                                 nlohmann::ordered_json& more, std::function<void()> check_ended);

}  // namespace glint::cli
