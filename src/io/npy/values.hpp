// The values of NumPy's .npy files as float.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "io/npy/header.hpp"

namespace glint {

/// How many whole values the file holds, whatever its shape says. Throws InputError for a type that is not read.
std::uint64_t npy_values_stored(const InputFile& file, const NpyHeader& header);

/// The first `count_read` values, no more than are stored, in the file's order. Throws InputError.
std::vector<float> read_npy_values(const InputFile& file, const NpyHeader& header, std::uint64_t count_read);

}  // namespace glint
