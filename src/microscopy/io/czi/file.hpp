// The planes of a CZI file: where each is, and how it is stored.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/files/input_file.hpp"
#include "io/plain_movie.hpp"

namespace glint::czi {

/// A picture at full resolution. Pyramid levels are skipped.
struct Picture {
    std::uint64_t at = 0;  ///< where its segment begins
    std::int32_t pixel_type = 0, compression = 0, file_part = 0;
    int x = 0, y = 0, width = 0, height = 0;  ///< of the scene
    std::int32_t scene = 0, time = 0, z = 0, channel = 0;
};

struct File {
    std::vector<Picture> pictures;
    std::string xml;         ///< the metadata
    bool recovered = false;  ///< the file has no directory, so its segments were searched one after another
};

/// Reads the directory, or segment by segment without one. Throws InputError if the file is damaged, has no
/// picture, or has a dimension that glint does not know.
File read_file(const InputFile& file);

/// Returns where a picture's pixels are, by its segment. Throws std::runtime_error with only the reason if
/// - there is no such segment,
/// - it contradicts the directory, or
/// - its pixels extend beyond its end or the file's.
struct Data {
    std::uint64_t begin = 0, bytes = 0;
};
Data data_of(const InputFile& file, const Picture& picture);

struct Facts {
    double width_nm = 0, height_nm = 0;  ///< of a pixel; 0: unknown
    std::optional<double> exposure_ms;   ///< of the channels, if all have the same
    std::vector<std::string> channels;   ///< their names, which may be empty
    std::string camera;
    std::int64_t times = 0;  ///< 0: unknown
};

/// Parses the metadata, which need not be well-formed, of the file `name`.
Facts parse_facts(std::string_view xml, const std::string& name);

enum class Compression : std::int32_t { none = 0, jpeg = 1, lzw = 2, jpeg_xr = 4, zstd0 = 5, zstd1 = 6 };

/// Returns how the pixels are stored. Throws InputError, naming `file`, for colour and for other unsupported types or
/// compressions.
StoredPixel stored_as(std::int32_t pixel_type, const std::string& file);
Compression compression_of(std::int32_t number, const std::string& file);

/// The minimum size of a compressed picture of `bytes`.
std::uint64_t min_packed(std::uint64_t bytes, Compression compression);

/// Unpacks the pixels of a compressed picture to `bytes`. Throws std::runtime_error with the bare reason if the picture
/// is damaged or of another length.
std::vector<std::byte> unpacked(std::span<const std::byte> packed, Compression compression, std::size_t bytes);

}  // namespace glint::czi
