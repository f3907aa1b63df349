// Checks the claims of HDF5 files before the library uses them, which version 1.10 does unchecked.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "io/hdf5/file.hpp"

namespace glint::hdf5 {

/// Whether the names of all objects and attributes lie where they should. Groups and attributes in newer formats
/// have checksums, and are not checked.
bool has_sound_names(hid_t file, const std::filesystem::path& path);

/// Whether a text of variable length, the scalar dataset `object` or its attribute `attribute` (null: the dataset itself),
/// is as long as it claims, and that is a length a text may have. HDF5 1.10 takes twice the memory that is claimed, and
/// then copies as many bytes as the heap of texts says. True also for rarer ways of storage, which are not checked.
bool is_honest_text(hid_t object, const char* attribute);

}  // namespace glint::hdf5
