// The structures on which simulated molecules lie: microtubules, rings, or none.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "glint/simulate.hpp"
#include "simulate/random.hpp"

namespace glint {

/// The position of a molecule: within the centres of the field's outermost pixels, z within the options' range.
struct Place {
    double x_px = 0, y_px = 0, z_um = 0;
};

/// A structure from which positions are drawn. Immutable; safe to share between threads.
class Scene {
  public:
    virtual ~Scene() = default;
    virtual Place draw(Random& random) const = 0;
};

/// The structure that the options select, generated from their seed (docs/theory.md, section 7).
std::unique_ptr<Scene> make_scene(const SimulateOptions& options);

/// The individual structures.
std::unique_ptr<Scene> make_microtubules(const SimulateOptions& options);
std::unique_ptr<Scene> make_rings(const SimulateOptions& options);

/// Clamps a position to the field and the range of z.
Place within(const SimulateOptions& options, Place place);

}  // namespace glint
