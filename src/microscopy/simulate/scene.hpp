// The structures on which simulated molecules lie: microtubules, rings, or none.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "glint/simulate.hpp"
#include "simulate/random.hpp"

namespace glint {

/// The position of a molecule: within the centres of the field's outermost pixels, z within the options' range.
struct MoleculePosition {
    double x_px = 0, y_px = 0, z_um = 0;
};

/// A structure from which positions are drawn. Immutable; safe to share between threads.
class Scene {
  public:
    virtual ~Scene() = default;
    virtual MoleculePosition draw(Random& random) const = 0;
};

/// The structure that the options select, generated from their seed (docs/explanation/theory.md, section 7).
std::unique_ptr<Scene> make_scene(const SimulateOptions& options);

/// The individual structures.
std::unique_ptr<Scene> make_microtubules(const SimulateOptions& options);
std::unique_ptr<Scene> make_rings(const SimulateOptions& options);

/// Clamps a position to the field and the range of z.
MoleculePosition within(const SimulateOptions& options, MoleculePosition place);

/// One molecule in one frame in which it is on.
struct Emission {
    std::int64_t frame = 0;
    MoleculePosition place;
    double photons = 0;
    std::int64_t molecule = -1;  ///< of those that turn on again and again; -1: only this once
};

/// Throws Cancelled where the options' `stop` is set.
void throw_if_stopped(const SimulateOptions& options);

/// The emissions of frames [first, first + count), by frame and then in the order in which the molecules turned on. A
/// function of options and seed only: random streams are indexed by the frame in which a molecule turns on, including
/// frames before the movie's start, so frames can be generated independently (docs/explanation/theory.md, section 7).
std::vector<Emission> emissions(const SimulateOptions& options, const Scene& scene, std::int64_t first,
                                std::int64_t count);

}  // namespace glint
