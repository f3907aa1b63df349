// The values of NumPy's .npy files.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "glint/movie.hpp"
#include "io/npy/header.hpp"

namespace glint {

/// How many whole values the file holds, whatever its shape says. Throws InputError for a type that is not read.
std::uint64_t npy_values_stored(const InputFile& file, const NpyHeader& header);

/// The first `count` values as float, no more than are stored, in the file's order. Throws InputError.
std::vector<float> read_npy_values(const InputFile& file, const NpyHeader& header, std::uint64_t count);

/// Their type, if it is one that pixels have, in the byte order of this machine.
std::optional<PixelType> npy_pixel_type(const NpyHeader& header);

/// The first `count` values of such a type as they are in the file, by all threads. Throws InputError.
std::unique_ptr<std::byte[]> read_npy_pixels(const InputFile& file, const NpyHeader& header, PixelType type,
                                             std::uint64_t count);

}  // namespace glint
