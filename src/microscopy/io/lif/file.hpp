// The parts of a LIF file: XML that describes its images, and blocks with their pixels.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "io/files/input_file.hpp"

namespace glint::lif {

/// Pixels of one image. A truncated file may end before the block does.
struct Block {
    std::uint64_t begin = 0, bytes = 0;
};

struct File {
    std::string xml;  ///< UTF-16
    std::uint64_t blocks_at = 0;
};

/// Throws InputError for another kind of Leica's files, and if the file ends within its XML.
File read_file(const InputFile& file);

/// Returns the blocks by their names, up to the first that is damaged. `version`: of the XML's container.
std::map<std::string, Block> find_blocks(const InputFile& file, std::uint64_t at, int version);

}  // namespace glint::lif
