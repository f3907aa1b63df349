// The steps of `glint run` for one movie.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands/localize.hpp"
#include "cli/run/recipe.hpp"
#include "cli/run/record.hpp"

namespace glint::cli {

/// One movie, perhaps in several files, and the folder of its results.
struct RunTask {
    std::vector<std::string> movies;
    std::filesystem::path folder;
    std::string condition;  ///< by which conditions.csv compares movies
};

/// What does not change results.
struct RunMeans {
    BackendFlags backend;
    int threads = 0;
};

/// The recipe as flags of `glint localize`.
LocalizeFlags localize_flags(const Recipe& recipe, const RunTask& task, const RunMeans& means);

/// Does the steps that are not finished. Throws glint's errors, Cancelled after a stop; what is finished stays.
void run_steps(const RunTask& task, const Recipe& recipe, const RunMeans& means, Record& record, Console& console);

}  // namespace glint::cli
