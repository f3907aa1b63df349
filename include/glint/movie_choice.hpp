// The part of a file with several channels, z planes or positions that is read as the movie.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace glint {

/// A channel, z plane and position. A member is unset if the file has only one, or if its z planes are the frames (a z
/// stack at a single time).
struct MovieChoice {
    std::optional<std::string> channel = {};   ///< its number from 0, or its name
    std::optional<std::int64_t> z = {};        ///< plane, from 0
    std::optional<std::string> position = {};  ///< of the stage: its number from 0, or its name

    bool operator==(const MovieChoice&) const = default;
};

}  // namespace glint
