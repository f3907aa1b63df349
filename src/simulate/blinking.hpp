// Which molecules are on in which frames.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "simulate/scene.hpp"

namespace glint {

/// A molecule in one frame that it is on in.
struct Emission {
    std::int64_t frame = 0;
    Place place;
    double photons = 0;
};

/// The emissions of frames [first, first + count), by frame and then in the order the molecules turned on. A
/// function of options and seed alone: molecules are counted by the frame in which they turn on, frames
/// before the movie's start included, so no frame needs those before it (docs/theory.md, section 7).
std::vector<Emission> emissions(const SimulateOptions& options, const Scene& scene, std::int64_t first,
                                std::int64_t count);

}  // namespace glint
