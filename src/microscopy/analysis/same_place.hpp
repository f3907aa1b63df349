// Whether molecules that shine again do so at the same place, however long after: a test for drift that needs no known structure.
// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/frame_neighbors.hpp"

namespace glint {

/// Pairs of localizations a time apart that is longer than blinks are, those sooner and those later in a movie. Without drift, and whatever the
/// structure, as large a share of each lies close together; drift makes the later share smaller.
struct SamePlace {
    SamePlace(const FrameNeighbors& neighbors, double pixel_size_nm, double precision_nm);

    double radius_nm = 0;  ///< within which pairs lie close together
    std::uint32_t sooner_frames = 0, later_frames = 0;
    double ratio = 1, error = 0;  ///< of the later share to the sooner one; 1 +- 0 where there are too few pairs

    bool falls() const { return error > 0 && ratio < 0.9 && ratio < 1 - 4 * error; }
};

}  // namespace glint
