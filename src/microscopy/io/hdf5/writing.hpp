// Writes HDF5 files through an AtomicFile: the same bytes from the same input, and no failure lost.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "io/files/atomic_file.hpp"
#include "io/hdf5/file.hpp"

namespace glint::hdf5 {

/// Creates an HDF5 file in `to`, which must outlive it. The contents do not depend on the time.
/// HDF5 1.10 loses data without an error if a write fails while it closes a dataset, and crashes if it cannot close a
/// file. Failed writes are therefore hidden from HDF5, and `to` keeps them for `check` and `commit`.
/// Uses no file locks, which some network file systems lack: no other process knows the temporary name. The first
/// `user_block` bytes (0, 512, 1024, ...) do not belong to HDF5; the caller writes them after closing the file.
Handle create_file(AtomicFile& to, std::size_t user_block = 0);

/// Creates a contiguous, uncompressed dataset without a time. Throws OutputError, naming `target`.
Handle create_dataset(hid_t place, const char* name, hid_t type, std::span<const hsize_t> shape,
                      const std::filesystem::path& target);

/// Writes rows [first, first + count) of a 1-D dataset.
void write_rows(hid_t dataset, hid_t memory_type, hsize_t first, hsize_t count, const void* values,
                const std::filesystem::path& target);

/// Writes a small dataset in one piece.
void write_values(hid_t place, const char* name, hid_t type, std::span<const hsize_t> shape, const void* values,
                  const std::filesystem::path& target);

Handle create_group(hid_t place, const char* name, const std::filesystem::path& target);

/// A scalar attribute of an object, with `type` in the file and in memory.
void write_attribute(hid_t object, const char* name, hid_t type, const void* value,
                     const std::filesystem::path& target);
void write_attribute(hid_t object, const char* name, double value, const std::filesystem::path& target);
/// A text of fixed length, UTF-8, of at most 60,000 bytes; longer ones are cut.
void write_attribute(hid_t object, const char* name, const std::string& text, const std::filesystem::path& target);

/// Writes a scalar string of fixed length in UTF-8.
void write_string(hid_t place, const char* name, const std::string& text, const std::filesystem::path& target);

}  // namespace glint::hdf5
