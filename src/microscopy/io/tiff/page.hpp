// One page of a TIFF, from its checked directory.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "glint/movie.hpp"
#include "io/plain_movie.hpp"
#include "io/tiff/handle.hpp"

namespace glint {

/// Facts of the handle's current page.
struct TiffPage {
    std::uint32_t width = 0, height = 0;
    std::uint16_t bits = 0, samples = 0, format = 0, photometric = 0, compression = 0;
    bool reduced = false;                ///< a thumbnail or a mask, no frame of the movie
    std::uint64_t directory_offset = 0;  ///< where TIFFSetSubDirectory finds the page again
    std::uint64_t index_bytes = 0;       ///< minimum size of its list of strips in the file
    std::uint64_t tile_bytes = 0;        ///< of one decoded tile; 0: strips
    std::uint64_t data_offset = 0;       ///< first pixel if the frame is uncompressed and in one piece, else 0
    std::uint64_t stored_bytes = 0;      ///< size of the pixels in the file
    std::uint64_t found_bytes = 0;       ///< how much of that the file has

    std::uint64_t frame_bytes() const { return std::uint64_t(width) * height * (bits / 8); }
    bool truncated() const { return found_bytes < stored_bytes; }
    bool operator==(const TiffPage&) const = default;
};

/// Reads the current page's facts. `file_bytes` is the file's size; a list of strips that cannot be in it is not read.
TiffPage read_page_facts(const TiffHandle& tiff, std::uint64_t file_bytes);

/// Sets the position of a page's pixels if they are uncompressed and in one piece; else `data_offset` stays 0.
void place_pixels(std::uint64_t offset, std::uint64_t file_bytes, TiffPage& page);

/// Returns how the page's pixels are stored. `where` begins the message. Throws InputError for pages that are not a
/// camera frame:
/// - colour, complex or packed pixels,
/// - a compression that this libtiff cannot decode, or
/// - a size that no camera has or that the file cannot contain.
StoredPixel check_page(const TiffPage& page, const std::string& where);

/// Returns a readable name: "PackBits", "JPEG 2000", "number 4711".
std::string compression_name(int compression);

}  // namespace glint
