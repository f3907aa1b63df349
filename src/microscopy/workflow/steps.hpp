// The steps of `glint run` for one movie.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "workflow/localize_setup.hpp"
#include "workflow/recipe.hpp"
#include "workflow/record.hpp"

namespace glint {

/// One movie, perhaps in several files, and the folder of its results.
struct RunTask {
    std::vector<std::string> movies;
    std::filesystem::path folder;
    std::string condition;  ///< by which conditions.csv compares movies
};

/// What the recipe says of the first step, and the options of where to fit.
LocalizeSetup localize_setup(const Recipe& recipe, const RunOptions& options);

/// The task's movies as one.
std::unique_ptr<Movie> open_movie_of(const RunTask& task, const LocalizeSetup& setup);

/// The movie's camera; throws OptionError that names all that is missing.
CameraFacts complete_facts(const LocalizeSetup& setup, const MovieInfo& movie, const RunTask& task,
                           const RunOptions& options);

/// Does the steps that are not finished. Throws glint's errors, Cancelled after a stop; what is finished stays.
void run_steps(const RunTask& task, const Recipe& recipe, const RunOptions& options, RunRecord& record);

}  // namespace glint
