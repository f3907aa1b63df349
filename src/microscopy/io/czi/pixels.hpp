// How the pixels of a CZI file are stored, and their decompression.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/plain_movie.hpp"

namespace glint::czi {

enum class Compression : std::int32_t { none = 0, jpeg = 1, lzw = 2, jpeg_xr = 4, zstd0 = 5, zstd1 = 6 };

/// Throws InputError that names `file`: colour, or another type or compression that is not read.
StoredPixel stored_as(std::int32_t pixel_type, const std::string& file);
Compression compression_of(std::int32_t number, const std::string& file);

/// The bytes that a picture of `bytes` may have at least, where it is compressed so.
std::uint64_t least_packed(std::uint64_t bytes, Compression compression);

/// Of a compressed picture its pixels, of `bytes`. Throws std::runtime_error with the bare reason: damaged, or of another length.
std::vector<std::byte> unpacked(std::span<const std::byte> packed, Compression compression, std::size_t bytes);

}  // namespace glint::czi
