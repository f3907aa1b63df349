// What keeps HDF5 1.10 safe from damaged files: a driver of our own, and checks of what a file claims before the
// library uses it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>

#include "io/hdf5/file.hpp"

namespace glint::hdf5 {

/// Access properties for H5Fopen: reads go straight to the file and only inside it, through a driver of our own.
/// HDF5 1.10's default drivers keep a cache of neighbouring metadata, which on damaged files reads through a null
/// pointer.
Handle reading_access();

/// Whether the names of all objects and attributes lie where they should. Groups and attributes in newer formats
/// have checksums, and are not checked.
bool has_sound_names(hid_t file, const std::filesystem::path& path);

/// Whether a text of variable length, the scalar dataset `object` or its attribute `attribute` (null: the dataset
/// itself), is as long as it claims, and has a length that a text may have. HDF5 1.10 allocates twice the claimed
/// memory, and then copies as many bytes as the heap of texts says. True also for rarer ways of storage, which are
/// not checked.
bool is_honest_text(hid_t object, const char* attribute);

/// Checks the first stored chunk: HDF5 1.10 unpacks a chunk, and then reads `chunk_bytes` however few there are.
/// True also where a filter other than shuffle, deflate and fletcher32 is used, or nothing is stored.
bool first_chunk_is_whole(hid_t dataset, hid_t properties, std::uint64_t chunk_bytes);

}  // namespace glint::hdf5
