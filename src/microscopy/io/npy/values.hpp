// The header and the values of NumPy's .npy files.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "glint/movie.hpp"
#include "io/files/input_file.hpp"

namespace glint {

struct NpyHeader {
    char byte_order = '<';       ///< '<', '>' or '|'
    std::string type;            ///< kind and bytes, as in "u2"
    bool fortran_order = false;  ///< first index fastest
    std::vector<std::uint64_t> shape;
    std::uint64_t data_offset = 0;  ///< of the first value in the file
};

/// Throws InputError for anything but a plain header of version 1, 2 or 3.
NpyHeader read_npy_header(const InputFile& file);

/// Returns how many whole values the file contains, whatever its shape claims. Throws InputError for unsupported types.
std::uint64_t npy_values_stored(const InputFile& file, const NpyHeader& header);

/// Returns the first `count` values as float, at most as many as are stored, in the file's order. Throws InputError.
std::vector<float> read_npy_values(const InputFile& file, const NpyHeader& header, std::uint64_t count);

/// Returns the pixel type of the values in this machine's byte order; nullopt if pixels cannot have the type.
std::optional<PixelType> npy_pixel_type(const NpyHeader& header);

/// Returns the first `count` values of such a type, unconverted. Uses all threads. Throws InputError.
std::unique_ptr<std::byte[]> read_npy_pixels(const InputFile& file, const NpyHeader& header, PixelType type,
                                             std::uint64_t count);

}  // namespace glint
