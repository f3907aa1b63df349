// Borders of frames whose pixels are exactly zero, as registration leaves them in movies of integers.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "glint/movie.hpp"
#include "pipeline/block_result.hpp"

namespace glint {

/// Whether a frame has such a border: at a corner a run of zeros along an edge, while the middle of the frame has nearly none. A
/// shift leaves two corners at least in it, a turn all four. False of frames too small to tell.
bool has_zero_border(const std::byte* counts, PixelType type, int width, int height);

/// Counts the frame where it has one.
void note_zero_border(const std::byte* counts, PixelType type, int width, int height, std::int64_t frame,
                      BlockCounts& to);
/// Counts those of the movie's frames [first, first + count) that have one.
void note_zero_borders(const std::byte* counts, const MovieInfo& movie, std::int64_t first, int count, BlockCounts& to);

}  // namespace glint
