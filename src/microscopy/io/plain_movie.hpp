// Movies with uncompressed frames in a file. The formats provide positions and pixel types.
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

/// How a pixel is stored. Types without a MovieInfo type become float32, which is exact up to 16,777,216 counts.
enum class StoredPixel { uint8, uint16, float32, int8, int16, uint32, int32, uint64, int64, float16, float64 };

/// A binary16 number of IEEE 754.
struct Half {
    std::uint16_t bits = 0;
    operator float() const;
};

int num_bytes(StoredPixel stored);
/// Returns true if movies have pixels of this type without conversion.
bool is_movie_type(StoredPixel stored);
/// Returns the type of a movie with such pixels.
PixelType movie_type(StoredPixel stored);

struct PlainFrames {
    MovieInfo info;  ///< width, height, frames and metadata; plain_movie() sets type, name and files
    StoredPixel stored = StoredPixel::uint16;
    bool big_endian = false;
    double scale = 1, zero = 0;  ///< a pixel is scale * stored + zero; int16 and a zero of 32,768 are uint16
    std::uint64_t first_byte = 0;
    std::uint64_t step = 0;              ///< frame k begins at first_byte + k * step; 0: without gaps
    std::vector<std::uint64_t> offsets;  ///< of the frames, if at irregular positions; replaces first_byte and step
    std::uint64_t row_bytes = 0;         ///< from row to row; 0: without gaps
    bool columns_first = false;          ///< a column's pixels follow each other, as MATLAB stores arrays
    int samples = 1;                     ///< adjacent values of each pixel; the first is the movie's
    std::optional<PixelType> type;       ///< of the movie, able to hold all stored values; unset: the nearest
    std::shared_ptr<const ByteSource> source;  ///< offsets count in it; null: in the file itself
    std::vector<std::filesystem::path> files;  ///< further files: descriptions
};

/// Leaves out frames that the file is too short for, with a warning. Throws InputError if no frame is complete, if
/// the sizes are outside 1 to 65,535 px, or if the file cannot be read.
std::unique_ptr<Movie> plain_movie(const std::filesystem::path& path, PlainFrames frames);

/// Converts one frame to info.type. `stored`: pixels in the machine's byte order, with the rows, samples and scale
/// of `frames`.
void to_movie_pixels(const PlainFrames& frames, std::span<const std::byte> stored, std::byte* out);

}  // namespace glint
