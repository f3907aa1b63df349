// What of a file with several channels, z planes or positions is read as the movie.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace glint {

/// Unset where the file has only one, or where its z planes are the frames (a z stack at a single time).
struct MovieChoice {
    std::optional<std::string> channel = {};   ///< its number from 0, or its name
    std::optional<std::int64_t> z = {};        ///< plane, from 0
    std::optional<std::string> position = {};  ///< of the stage: its number from 0, or its name

    bool operator==(const MovieChoice&) const = default;
};

}  // namespace glint
