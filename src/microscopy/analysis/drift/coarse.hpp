// A first, rough drift: each segment of frames is placed on all those placed before it.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

#include "analysis/drift/blinks.hpp"

namespace glint::drift {

struct Coarse {
    FrameDrift drift;
    int segment_frames = 0;
    double searched_nm = 0;
    double wrong_match = 0;  ///< probability that a segment lies elsewhere, mean of all
    double wrong_by_nm = 0;  ///< how far elsewhere, of the one that is least sure
    std::string why;         ///< not empty: no drift was found
};
/// `stopped` throws when the caller wants to stop.
Coarse coarse_drift(const Table& table, const Blinks& blinks, const std::function<void()>& stopped);

/// Straight lines between `values`, which are known at the frames `at`; constant before the first and after the last.
void interpolate(const std::vector<double>& at, const std::vector<Vec3>& values, FrameDrift& drift, int frames);

}  // namespace glint::drift
