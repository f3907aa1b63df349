// The limit of a frame's width and height, in all formats.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint {

/// Pixels along an edge of a movie's frame; a larger one is an error.
inline constexpr int largest_edge_px = 65535;

}  // namespace glint
