// summary.csv: a row for each movie whose folder is in the folder of results.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

#include "cli/run/record.hpp"

namespace glint::cli {

/// Of all folders with a run.json, this command's or an earlier one's, by name; `recipe` is the hash of the present one, as records have it
/// under that name. Throws OutputError.
void write_run_summary(const std::filesystem::path& folder, const std::string& recipe);

/// Whether the file is such a table, or does not exist.
bool may_become_summary(const std::filesystem::path& file);

/// The figures of one movie, null where a step did not find them or was begun and not ended: the columns of the table but `movie`.
Record::Json run_figures(const Record::Json& record);

}  // namespace glint::cli
