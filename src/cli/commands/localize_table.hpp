// `glint localize --summary TABLE.csv`: a row for each movie of a batch.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "cli/commands/localize.hpp"

namespace glint::cli {

/// Before any work. Throws OptionError for a name that does not end in .csv, a file that is also read or written
/// otherwise, and one that exists: --overwrite replaces it, and --resume the table of an earlier run.
void check_summary_table(const LocalizeFlags& flags, const std::vector<LocalizeTask>& tasks);

/// `results`: the fields for --json of each task that was begun, in the order of `tasks`. Throws OutputError.
void write_summary_table(const LocalizeFlags& flags, const std::vector<LocalizeTask>& tasks,
                         const std::vector<nlohmann::ordered_json>& results);

}  // namespace glint::cli
