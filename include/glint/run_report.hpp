// The report of a movie that run() has processed.
//
//     glint::ReportOptions options;
//     const glint::ReportInfo info = glint::write_run_report("report.html", "results/cell1", options);
//     for (const std::string& sentence : info.missing) std::puts(sentence.c_str());
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <vector>

#include "glint/if_exists.hpp"
#include "glint/progress.hpp"
#include "glint/report.hpp"

namespace glint {

/// Returns the table that the report of a run's folder shows: all localizations, filtered and without drift as far as
/// the recipe asks for it, not linked. Throws InputError if the folder has no run.json or no finished table.
std::filesystem::path table_of_run(const std::filesystem::path& folder);

/// Writes the report of a run's folder: its localizations, resolution, drift curve and record, and raw frames of its
/// movie if that is found and `options.movie` is null. Values that `options` contain replace those of the folder.
///
/// Returns what the file contains. Throws as write_report(), and InputError if the folder has no run.json or no
/// finished table.
ReportInfo write_run_report(const std::filesystem::path& path, const std::filesystem::path& folder,
                            const ReportOptions& options, const Warn& warn = {},
                            IfExists if_exists = IfExists::replace);

}  // namespace glint
