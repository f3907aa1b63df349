// The location of a dataset's pixels in an HDF5 file, for readers that unpack them by themselves, on all threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "io/files/input_file.hpp"
#include "io/hdf5/file.hpp"
#include "io/plain_movie.hpp"

namespace glint::hdf5 {

using Extent3 = std::array<std::uint64_t, 3>;  ///< planes, rows, columns

/// How the values of a dataset of three dimensions are stored.
struct ArrayLayout {
    StoredPixel type = StoredPixel::uint16;
    bool big_endian = false;
    Extent3 chunk{};  ///< of a dataset without chunks: its shape
    bool is_deflated = false, is_shuffled = false;
    std::uint64_t checksum_bytes = 0;  ///< behind each stored chunk

    bool operator==(const ArrayLayout&) const = default;
    std::uint64_t chunk_bytes() const { return chunk[0] * chunk[1] * chunk[2] * std::uint64_t(num_bytes(type)); }
};

/// One chunk; `bytes` 0: not stored, its values are 0.
struct StoredChunk {
    std::uint64_t begin = 0;
    std::uint32_t bytes = 0;
    bool is_filtered = true;
};

struct StoredArray {
    Extent3 shape{};
    ArrayLayout layout;
};

/// Returns the layout of a dataset in a file whose addresses begin at its first byte. Throws InputError if the dataset
/// - does not have three dimensions, or contains no pixels,
/// - is stored in other files,
/// - has filters other than shuffle, deflate and fletcher32, or
/// - claims more than the file's size.
StoredArray stored_array(hid_t place, const char* name, const InputFile& file, Handle& dataset);

/// The chunks of the plane `z`, row by row of chunks.
std::vector<StoredChunk> chunks_of_plane(hid_t dataset, const StoredArray& array, std::uint64_t z);

/// Unpacks a chunk to values in the machine's byte order. Throws std::runtime_error with the bare reason.
void unpack(const InputFile& file, const StoredChunk& chunk, const ArrayLayout& layout, std::vector<std::byte>& out);

}  // namespace glint::hdf5
