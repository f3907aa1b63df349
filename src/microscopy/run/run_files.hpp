// The files of a run beside its output: their names, and the files that earlier runs left.
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

/// Returns the folder of parts. If `out` is a link, it is beside the link's target.
std::filesystem::path parts_path(const std::filesystem::path& out);
/// Returns the path of a part. `run` is new for each run (new_run_name), so no process writes into another process's
/// file. Finished records stay valid even if two runs work on one output on a file system without locks.
std::filesystem::path part_path(const std::filesystem::path& out, const std::string& run, int rank);
std::string new_run_name();

/// Returns the part files in a folder; empty if there is no folder.
std::vector<std::filesystem::path> part_files(const std::filesystem::path& folder);

/// Returns the name that the parts of a complete run get, by one rename, before they are removed one by one.
std::filesystem::path finished_parts_path(const std::filesystem::path& out, const std::string& run);
/// Removes the folders that killed runs left under such names. Lock the output before.
void remove_finished_parts(const std::filesystem::path& out);
/// Removes a folder of parts with the files of runs in it, and nothing else. Returns false if something is left.
bool remove_parts_folder(const std::filesystem::path& folder);
/// Returns true for a folder that contains only files of runs.
bool holds_parts_alone(const std::filesystem::path& folder);

}  // namespace glint
