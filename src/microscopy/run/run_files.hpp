// The files of a run beside its output: their names, and what earlier runs left of them.
//
//   OUT.journal               records of a run of one process; the process that writes the output holds its lock
//   OUT.journal.parts/        records of a run of several processes, one RUN-RANK.part each; `owner` names the owner
//   OUT.partial.ext           the result so far, left by a stopped run (glint/localize.hpp: journal_path, partial_path)
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace glint {

/// If `out` is a link, beside the file that it leads to.
std::filesystem::path parts_path(const std::filesystem::path& out);
/// `run` is new for each run (new_run_name): no process writes into another one's file, so finished records stay valid
/// even where two runs work on one output on a file system without locks.
std::filesystem::path part_path(const std::filesystem::path& out, const std::string& run, int rank);
std::string new_run_name();

/// The part files in a folder, and none when there is no folder.
std::vector<std::filesystem::path> part_files(const std::filesystem::path& folder);

/// The name that the parts of a complete run get, by one rename, before they are removed one by one.
std::filesystem::path finished_parts_path(const std::filesystem::path& out, const std::string& run);
/// Removes what killed runs left under such names. Call it with the output locked.
void remove_finished_parts(const std::filesystem::path& out);
/// Removes a folder of parts and in it the files of runs, and nothing else. False where something is left.
bool remove_parts_folder(const std::filesystem::path& folder);
/// Whether it is a folder in which there is nothing but files of runs.
bool holds_parts_alone(const std::filesystem::path& folder);

}  // namespace glint
