// Protects HDF5 1.10 from damaged files: a driver of our own, and checks of a file's claims before the library uses it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>

#include "io/hdf5/file.hpp"

namespace glint::hdf5 {

/// Returns access properties for H5Fopen with which reads go straight to the file and stay inside it. They use a driver
/// of our own: HDF5 1.10's default drivers cache neighbouring metadata, and on damaged files that cache reads through a
/// null pointer.
Handle reading_access();

/// Returns true if the names of all objects and attributes are within their bounds. Groups and attributes in newer
/// formats have checksums, and are not checked.
bool has_sound_names(hid_t file, const std::filesystem::path& path);

/// Returns true if a text of variable length is as long as it claims, and has a permitted length. The text is the
/// scalar dataset `object` or its attribute `attribute` (null: the dataset itself). HDF5 1.10 allocates twice the
/// claimed memory, and then copies as many bytes as the heap of texts claims. True also for rarer kinds of storage,
/// which are not checked.
bool is_honest_text(hid_t object, const char* attribute);

/// Checks the first stored chunk, because HDF5 1.10 unpacks a chunk and then reads `chunk_bytes`, however few there
/// are. True also if another filter than shuffle, deflate and fletcher32 is used, or if nothing is stored.
bool first_chunk_is_whole(hid_t dataset, hid_t properties, std::uint64_t chunk_bytes);

}  // namespace glint::hdf5
