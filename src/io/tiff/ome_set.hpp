// Whether the files of a movie are all that their OME metadata name.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "io/tiff/ome_xml.hpp"

namespace glint {

/// A file of a movie, as it was opened.
struct OmePart {
    std::filesystem::path path;
    std::int64_t frames = 0;
    bool truncated = false;
    OmeMovie ome;
};

/// Whether the files of a movie are all that their metadata name. Returns warnings: files that are lost,
/// other channels, other numbers of frames than the metadata say. Throws InputError where a file that was not given
/// stands beside those that were: it is part of the movie.
std::vector<std::string> check_ome_sets(const std::vector<OmePart>& parts);

}  // namespace glint
