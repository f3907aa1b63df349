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

/// One movie, possibly in several files, and the folder of its results.
struct RunTask {
    std::vector<std::string> movies;
    std::filesystem::path folder;
    std::string condition;  ///< by which conditions.csv compares movies
};

/// Returns the recipe's settings of the first step, with the options that select CPU or GPUs.
LocalizeSetup localize_setup(const Recipe& recipe, const RunOptions& options);

/// Opens the task's movies as one.
std::unique_ptr<Movie> open_movie_of(const RunTask& task, const LocalizeSetup& setup);

/// Returns the movie's camera. Throws OptionError that names all missing values.
CameraFacts complete_facts(const LocalizeSetup& setup, const MovieInfo& movie, const RunTask& task,
                           const RunOptions& options);

/// Runs the steps that are not finished. Throws glint's errors, and Cancelled after a stop. Finished results are kept.
void run_steps(const RunTask& task, const Recipe& recipe, const RunOptions& options, RunRecord& record);

}  // namespace glint
