// The planes of a CZI file: where each is, and how it is stored.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "io/files/input_file.hpp"

namespace glint::czi {

/// Of all pictures those at full resolution; pyramids are left out.
struct Picture {
    std::uint64_t at = 0;  ///< where its segment begins
    std::int32_t pixel_type = 0, compression = 0, file_part = 0;
    int x = 0, y = 0, width = 0, height = 0;  ///< of the scene
    std::int32_t scene = 0, time = 0, z = 0, channel = 0;
};

struct File {
    std::vector<Picture> pictures;
    std::string xml;         ///< the metadata
    bool recovered = false;  ///< the file has no directory: pictures were looked for one after the other
};

/// By the directory, else segment by segment. Throws InputError: damaged, no picture, a dimension that glint does not know.
File read_file(const InputFile& file);

/// Where a picture's pixels are, as its segment says. Throws std::runtime_error with the bare reason where the segment is none, says
/// something else of the picture than the directory, or has the pixels beyond its end or the file's.
struct Data {
    std::uint64_t begin = 0, bytes = 0;
};
Data data_of(const InputFile& file, const Picture& picture);

}  // namespace glint::czi
