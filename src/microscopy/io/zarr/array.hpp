// An array of Zarr, version 2 or 3: its description, and its chunks, one file each.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/plain_movie.hpp"

namespace glint::zarr {

using Json = nlohmann::json;

enum class Codec { zlib, zstd, blosc, lz4, crc32c };

struct Array {
    std::filesystem::path folder;
    std::filesystem::path description;  ///< the file that describes it
    std::vector<std::uint64_t> shape, chunk;
    std::vector<std::size_t> order;  ///< of a chunk's axes as stored, the slowest first
    std::vector<std::string> axes;   ///< names, if it has them
    StoredPixel type = StoredPixel::uint16;
    bool big_endian = false;
    double fill = 0;
    std::string key_begin, key_separator;  ///< of a chunk's name
    std::vector<Codec> codecs;             ///< in the order of unpacking
    std::vector<std::uint64_t>
        shard;  ///< chunks along each axis of a shard, a file of several chunks; empty: each has its own file
    bool index_at_begin = false;  ///< of a shard; else at its end
    std::uint64_t index_checksum_bytes = 0;

    std::uint64_t chunk_bytes() const;
    /// Returns the file of a chunk, or of the shard that contains it.
    std::filesystem::path chunk_path(const std::vector<std::uint64_t>& number) const;
    /// Unpacks one chunk to values in the machine's byte order. A chunk that is not stored has the fill value.
    /// Throws std::runtime_error.
    void read_chunk(const std::vector<std::uint64_t>& number, std::vector<std::byte>& out) const;

  private:
    std::vector<std::byte> packed_chunk(const std::vector<std::uint64_t>& number, std::uint64_t most) const;
};

/// Returns true if the path exists. Throws InputError if the system does not report it, as in an unreadable folder.
bool is_there(const std::filesystem::path& path);

/// Returns the description of an array or group in `folder`, of version 2 or 3, and its attributes in `attributes`;
/// null if there is none. Throws InputError if it is not JSON, or longer than 16 MiB.
Json description_of(const std::filesystem::path& folder, Json& attributes);

bool is_array(const Json& description);

/// Throws InputError for unsupported arrays and invalid sizes.
Array read_array(const std::filesystem::path& folder);

}  // namespace glint::zarr
