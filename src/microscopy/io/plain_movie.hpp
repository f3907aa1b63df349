// Movies whose frames lie uncompressed in a file: the formats say where, and what a pixel is.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "glint/movie.hpp"
#include "io/packed_bytes.hpp"

namespace glint {

/// How a pixel is stored. What MovieInfo has no type for becomes float32: exact up to 16,777,216 counts.
enum class StoredPixel { uint8, uint16, float32, int8, int16, uint32, int32, uint64, int64, float16, float64 };

/// A number of IEEE 754's binary16.
struct Half {
    std::uint16_t bits = 0;
    operator float() const;
};

int bytes_of(StoredPixel stored);
/// Whether movies have pixels of this type without conversion.
bool is_movie_type(StoredPixel stored);
/// The type of a movie of such pixels.
PixelType movie_type(StoredPixel stored);

struct PlainFrames {
    MovieInfo info;  ///< width, height, frames and metadata; plain_movie() sets type, name and files
    StoredPixel stored = StoredPixel::uint16;
    bool big_endian = false;
    double scale = 1, zero = 0;  ///< a pixel is scale * stored + zero; int16 and a zero of 32,768 are uint16
    std::uint64_t first_byte = 0;
    std::uint64_t step = 0;              ///< frame k begins at first_byte + k * step; 0: without gaps
    std::vector<std::uint64_t> offsets;  ///< of the frames, instead of both if they lie irregularly
    std::uint64_t row_bytes = 0;         ///< from row to row; 0: without gaps
    bool columns_first = false;          ///< a column's pixels follow each other, as MATLAB stores arrays
    int samples = 1;                     ///< values at each pixel, side by side, of which the first is the movie's
    std::optional<PixelType> type;       ///< of the movie, which holds all that is stored; unset: the nearest
    std::shared_ptr<const ByteSource> source;  ///< where offsets count; none: the file itself
    std::vector<std::filesystem::path> files;  ///< beside the file of the pixels: descriptions
};

/// Leaves out frames that the file is too short for, with a warning. Throws InputError if no frame is complete, if
/// the sizes are outside 1 to 65,535 px, or if the file cannot be read.
std::unique_ptr<Movie> plain_movie(const std::filesystem::path& path, PlainFrames frames);

/// Converts one frame to info.type. `stored`: pixels in the machine's byte order, with the rows, samples and scale
/// of `frames`.
void to_movie_pixels(const PlainFrames& frames, std::span<const std::byte> stored, std::byte* out);

}  // namespace glint
