// Blinking: which molecules are on in which frames (docs/theory.md, eq. 7.4).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "simulate/scene.hpp"

namespace glint {

/// One molecule in one frame in which it is on.
struct Emission {
    std::int64_t frame = 0;
    Place place;
    double photons = 0;
    std::int64_t molecule = -1;  ///< of those that turn on again and again; -1: only this once
};

/// Throws Cancelled where the options' `stop` is set.
void throw_if_stopped(const SimulateOptions& options);

/// The emissions of frames [first, first + count), by frame and then in the order in which the molecules turned on. A
/// function of options and seed only: random streams are indexed by the frame in which a molecule turns on, including
/// frames before the movie's start, so frames can be generated independently (docs/theory.md, section 7).
std::vector<Emission> emissions(const SimulateOptions& options, const Scene& scene, std::int64_t first,
                                std::int64_t count);

}  // namespace glint
