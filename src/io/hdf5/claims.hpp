// What HDF5 files claim, looked at before the library, which in version 1.10 believes it.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "io/hdf5/file.hpp"

namespace glint::hdf5 {

/// Whether the names of all objects and attributes lie where they should. Groups and attributes that are stored in newer ways
/// have checksums, and are not looked at.
bool has_sound_names(hid_t file, const std::filesystem::path& path);

/// Whether a text of variable length, the scalar dataset `object` or its attribute `attribute` (null: the dataset itself),
/// is as long as it claims, and that is a length a text may have. HDF5 1.10 takes twice the memory that is claimed, and
/// then copies whatever length the heap of texts says. True also for what is stored in rarer ways, which are not looked at.
bool is_honest_text(hid_t object, const char* attribute);

}  // namespace glint::hdf5
