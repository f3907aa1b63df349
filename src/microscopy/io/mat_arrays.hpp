// The variables of a MATLAB file of version 5 to 7 (.mat): their types, and the positions of their numbers.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "glint/movie.hpp"
#include "io/files/input_file.hpp"
#include "io/packed_bytes.hpp"
#include "io/plain_movie.hpp"

namespace glint {

struct MatArray {
    std::string name;
    std::vector<std::int64_t> dimensions;  ///< rows, columns, ...
    std::optional<PixelType> type;         ///< nearest to its class; none: no numbers
    int array_class = 0;                   ///< 1 cell, 2 structure, 4 text, 6 to 15 numbers
    bool is_complex = false;
    StoredPixel stored = StoredPixel::uint8;  ///< MATLAB stores small numbers of any class in fewer bytes
    std::uint64_t first_byte = 0;             ///< of the numbers: in the file, or in the unpacked variable
    std::uint64_t bytes = 0;
    std::uint64_t begin = 0;                        ///< of the whole element: in the file, or in the unpacked variable
    std::uint64_t packed_at = 0, packed_bytes = 0;  ///< a zlib stream in the file; 0: not packed

    bool is_numeric() const { return type && !is_complex; }
    /// "movie (512 x 512 x 1000)".
    std::string described() const;
};

/// Returns the only array that can be a movie. Otherwise throws InputError that lists all `arrays`, or those that can
/// be.
MatArray movie_of(const std::vector<MatArray>& arrays, const std::string& file);

struct MatFile {
    bool big_endian = false;
    std::vector<MatArray> arrays;
};

/// elements: 5 to 7. hdf5: 7.3, an HDF5 file behind MATLAB's header.
enum class MatVersion { none, elements, hdf5 };
MatVersion mat_version(const InputFile& file);
/// Throws InputError for a file of version 4, which is not read.
void refuse_mat4(const InputFile& file);
/// Reads only the variables' headers. A truncated variable is the last. Throws InputError if there are too many.
MatFile read_mat(const InputFile& file);

/// `array`: one of the file's arrays, with the dimensions (height, width, frames). Throws InputError.
std::unique_ptr<Movie> movie_of_array(const std::filesystem::path& path, const MatArray& array, bool big_endian);

}  // namespace glint
