// A first, rough drift: each segment of frames is placed on all segments placed before it.
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
    double wrong_match = 0;  ///< mean probability that a segment lies elsewhere
    double wrong_by_nm = 0;  ///< how far elsewhere the least certain segment may lie
    std::string why;         ///< why no drift was found; empty if one was
};
/// Estimates the drift. `stopped` is called often, and throws when the caller wants to stop.
Coarse coarse_drift(const Table& table, const Blinks& blinks, const std::function<void()>& stopped);

/// Interpolates linearly between `values` at the frames `at`. Constant before the first and after the last.
void interpolate(const std::vector<double>& at, const std::vector<Vec3>& values, FrameDrift& drift, int frames);

}  // namespace glint::drift
