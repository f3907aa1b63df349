// A part of the frames of a movie, such as one half of a dual view.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "glint/movie.hpp"

namespace glint {

/// Pixels x to x + width - 1 and y to y + height - 1 of a frame.
struct PixelRegion {
    int x = 0, y = 0, width = 0, height = 0;

    bool operator==(const PixelRegion&) const = default;
};

/// A region, and the size of the whole frames. With LocalizeOptions::region, rows have the coordinates of whole frames.
struct RegionOfFrames {
    PixelRegion region;
    int frame_width = 0, frame_height = 0;
};

/// Returns a movie of this part of the frames, which owns `movie`. MovieInfo::planes contains the region. The result is
/// a GrowingMovie if `movie` is one. Throws OptionError if the region is empty or not inside the frames.
std::unique_ptr<Movie> crop_movie(std::unique_ptr<Movie> movie, const PixelRegion& region);

}  // namespace glint
