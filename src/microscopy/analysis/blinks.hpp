// Which localizations are one blink: consecutive and near each other.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/frame_neighbors.hpp"

namespace glint {

/// By place of `neighbors`: the number of its blink, from 0 in the order of frames; `blinks` of them. A place joins the blink of
/// a place within the radius that has it for its nearest, in the frame before or, after up to `dark_frames` without one, earlier.
struct Blinks {
    Blinks(const FrameNeighbors& neighbors, double radius_px, int dark_frames);

    std::vector<std::uint32_t> number;
    std::uint32_t blinks = 0;
};

}  // namespace glint
