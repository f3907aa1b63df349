// Three-dimensional datasets of HDF5 files, read by glint's own threads. The library, which is not thread-safe, is only
// used once, to find the chunks.
// SPDX-License-Identifier: MIT
#pragma once

#include <hdf5.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/files/input_file.hpp"
#include "io/hdf5/file.hpp"
#include "io/plain_movie.hpp"

namespace glint::hdf5 {

/// The HDF5 types that movies may have.
struct StoredType {
    StoredPixel pixel = StoredPixel::uint8;
    bool big_endian = false;
};
std::optional<StoredType> stored_type(hid_t type);

struct ChunkPlace {
    std::uint64_t offset = 0, bytes = 0;  ///< 0 bytes: not stored, all 0
    bool is_packed = true;
};

struct ChunkedArray {
    StoredType type;
    std::array<std::uint64_t, 3> shape{}, chunk{}, chunks{};  ///< chunks: how many along each dimension
    bool deflates = false, shuffles = false;
    std::vector<ChunkPlace> places;  ///< the last dimension changes fastest

    std::uint64_t chunk_bytes() const { return chunk[0] * chunk[1] * chunk[2] * std::uint64_t(num_bytes(type.pixel)); }
};

/// Returns the three dimensions of an array whose other dimensions are 1: (frames, 1, y, x). Empty if it has fewer or
/// more.
std::vector<std::size_t> three_dimensions(const std::vector<hsize_t>& shape);

/// Returns the layout of a chunked dataset of three_dimensions() that open_dataset() has checked. Throws InputError for
/// filters other than shuffle and deflate.
ChunkedArray chunked_array(hid_t dataset, const std::string& name, const InputFile& file);

/// Reads the chunk's values in their stored form. Throws std::runtime_error with the reason, without the file's name.
void read_chunk(const ChunkedArray& array, const InputFile& file, std::size_t number, std::vector<std::byte>& out);

}  // namespace glint::hdf5
