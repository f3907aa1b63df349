// Writes HDF5 files through an AtomicFile: the same bytes from the same input, and no failure lost.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "io/files/atomic_file.hpp"
#include "io/hdf5/file.hpp"

namespace glint::hdf5 {

/// Creates an HDF5 file in `to`, which must outlive it, in which nothing depends on the time. HDF5 1.10 loses data
/// without an error when a write fails while it closes a dataset, and crashes when a file cannot be closed: so failed
/// writes are hidden from it, and `to` keeps them for `check` and `commit`. No file locks, which some network file
/// systems lack: no other process knows the temporary name. The first `user_block` bytes (0, 512, 1024, ...) are not
/// HDF5's; the caller writes them after the file is closed.
Handle create_file(AtomicFile& to, std::size_t user_block = 0);

/// Contiguous, uncompressed, without a time. Throws OutputError, naming `target`.
Handle create_dataset(hid_t place, const char* name, hid_t type, std::span<const hsize_t> shape,
                      const std::filesystem::path& target);

/// Rows [first, first + count) of a 1-D dataset.
void write_rows(hid_t dataset, hid_t memory_type, hsize_t first, hsize_t count, const void* values,
                const std::filesystem::path& target);

/// A whole small dataset.
void write_values(hid_t place, const char* name, hid_t type, std::span<const hsize_t> shape, const void* values,
                  const std::filesystem::path& target);

/// A scalar string of fixed length, UTF-8.
void write_string(hid_t place, const char* name, const std::string& text, const std::filesystem::path& target);

}  // namespace glint::hdf5
