// A file and its description, which must match: Picasso's .hdf5 and .yaml.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "io/files/atomic_file.hpp"

namespace glint {

/// Commits both; a process that is killed in between leaves no new file beside an old one. Where neither exists, the
/// description is placed first; an old description is renamed before the described file is replaced. After such a kill
/// the file may lack its description until the same run is repeated, or `repair_pair` is called. Throws OutputError.
void commit_together(AtomicFile& description, AtomicFile& described);

/// Call it before writing a pair: completes or reverts what a killed `commit_together` of the same targets began.
void repair_pair(const std::filesystem::path& description, const std::filesystem::path& described);

}  // namespace glint
