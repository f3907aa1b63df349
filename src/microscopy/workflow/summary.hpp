// Writes summary.csv: a row for each movie whose folder is in the results folder. Also writes conditions.csv: means
// over the movies of each condition.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "glint/progress.hpp"
#include "workflow/record.hpp"

namespace glint {

/// Writes the rows of all folders with a run.json, from this or an earlier command, in the order of their names.
/// `recipe` is the hash of the current recipe; records contain theirs under the same name. If complete movies belong to
/// at least two conditions, also writes conditions.csv, with mean and standard error of each column. Returns true if
/// that was written. Throws OutputError.
bool write_run_summary(const std::filesystem::path& folder, const std::string& recipe);

/// Draws conditions.csv as conditions.png and conditions.svg, or those of `formats`. Throws OutputError.
void draw_conditions(const std::filesystem::path& folder, const std::vector<std::string>& formats);

/// Returns true if the file is such a table, or does not exist.
bool may_become_summary(const std::filesystem::path& file);

/// Returns the statistics of one movie: the columns of the table except `movie`. Null if a step did not find a value or
/// did not finish.
RunRecord::Json run_figures(const RunRecord::Json& record);

}  // namespace glint
