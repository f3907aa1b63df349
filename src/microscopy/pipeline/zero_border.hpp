// Borders of frames whose pixels are exactly zero, as registration leaves them in movies of integers.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "glint/movie.hpp"
#include "pipeline/block_result.hpp"

namespace glint {

/// Returns true if a frame has such a border: a run of zeros along an edge at a corner, and nearly no zeros in the
/// middle of the frame. A shift leaves at least two corners in the border, a rotation all four. False if the frame is
/// too small to decide.
bool has_zero_border(const std::byte* counts, PixelType type, int width, int height);

/// Counts the frame if it has a border.
void note_zero_border(const std::byte* counts, PixelType type, int width, int height, std::int64_t frame,
                      BlockCounts& to);
/// Counts the frames [first, first + count) of the movie that have a border.
void note_zero_borders(const std::byte* counts, const MovieInfo& movie, std::int64_t first, int count, BlockCounts& to);

}  // namespace glint
