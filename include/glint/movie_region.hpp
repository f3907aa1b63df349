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

/// A region, and the size of the frames that it is a part of. In LocalizeOptions::region, it keeps rows in the
/// coordinates of whole frames.
struct RegionOfFrames {
    PixelRegion region;
    int frame_width = 0, frame_height = 0;
};

/// Returns the movie whose frames are this part of `movie`'s. Its info names the region among the planes. Still a
/// GrowingMovie if `movie` is one. Throws OptionError if the region is empty or not inside the frames.
std::unique_ptr<Movie> region_of(std::unique_ptr<Movie> movie, const PixelRegion& region);

}  // namespace glint
