// The preparation of a FrameBlock, common to all readers of movies.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "glint/movie.hpp"

namespace glint {

/// Throws OptionError for frames [first, first + count) that the movie does not have.
void check_frames(const MovieInfo& info, std::int64_t first, int count);

/// Gives `block` the shape of frames [first, first + count) of the movie. Throws OptionError for frames that
/// the movie does not have.
void shape_like(const MovieInfo& info, std::int64_t first, int count, FrameBlock& block);

}  // namespace glint
