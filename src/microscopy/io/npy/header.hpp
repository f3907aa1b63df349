// The header of NumPy's .npy files.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace glint
