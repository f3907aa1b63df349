// summary.csv: a row for each movie whose folder is in the folder of results; conditions.csv: means over the movies of a condition.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "glint/progress.hpp"
#include "workflow/record.hpp"

namespace glint {

/// Of all folders with a run.json, this command's or an earlier one's, by name; `recipe` is the hash of the present one, as records have it
/// under that name. If complete movies are of two conditions at least, also conditions.csv: mean and its standard error of each column.
/// Returns whether that was written. Throws OutputError.
bool write_run_summary(const std::filesystem::path& folder, const std::string& recipe);

/// Writes conditions.gp, which plots conditions.csv, and draws it in these formats if gnuplot is installed. Returns why gnuplot failed; empty
/// if it did not.
std::string draw_conditions(const std::filesystem::path& folder, const std::vector<std::string>& formats,
                            const StopFlag& stop);

/// Whether the file is such a table, or does not exist.
bool may_become_summary(const std::filesystem::path& file);

/// The figures of one movie, null where a step did not find them or was begun and not ended: the columns of the table but `movie`.
RunRecord::Json run_figures(const RunRecord::Json& record);

}  // namespace glint
