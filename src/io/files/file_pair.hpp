// A file and its description, which belong together: Picasso's .hdf5 and .yaml.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "io/files/atomic_file.hpp"

namespace glint {

/// Commits both such that a process that is killed in between leaves no new file beside an old one: where there was
/// nothing, the description comes first; an old description is set aside before the described file is replaced. Then
/// the file may stand without its description until the same run is done again, or `repair_pair` is called. Throws OutputError.
void commit_together(AtomicFile& description, AtomicFile& described);

/// Before a pair is written: ends what a killed `commit_together` of the same targets began.
void repair_pair(const std::filesystem::path& description, const std::filesystem::path& described);

}  // namespace glint
