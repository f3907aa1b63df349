// A test for drift that needs no known structure: do molecules that shine again do so at the same place after a long
// time?
// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/frame_neighbors.hpp"

namespace glint {

/// Compares pairs of localizations after a shorter and after a longer lag, both longer than blinks. Without drift, the
/// same share of pairs lies close together in both, whatever the structure. Drift reduces the share at the longer lag.
struct SamePlace {
    SamePlace(const FrameNeighbors& neighbors, double pixel_size_nm, double precision_nm);

    double radius_nm = 0;  ///< within which pairs lie close together
    std::uint32_t sooner_frames = 0, later_frames = 0;
    double ratio = 1, error = 0;  ///< of the later share to the sooner share; 1 +- 0 with too few pairs

    bool falls() const { return error > 0 && ratio < 0.9 && ratio < 1 - 4 * error; }
};

}  // namespace glint
