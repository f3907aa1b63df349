// What molecules sit on: microtubules, rings, or nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "glint/simulate.hpp"
#include "simulate/random.hpp"

namespace glint {

/// Where a molecule is; within the centres of the field's outermost pixels, z within the options' range.
struct Place {
    double x_px = 0, y_px = 0, z_um = 0;
};

/// A structure to draw places from. Immutable; safe to share between threads.
class Scene {
  public:
    virtual ~Scene() = default;
    virtual Place draw(Random& random) const = 0;
};

/// The structure that the options name, laid out by their seed (docs/theory.md, section 7).
std::unique_ptr<Scene> make_scene(const SimulateOptions& options);

/// The makers behind it.
std::unique_ptr<Scene> make_microtubules(const SimulateOptions& options);
std::unique_ptr<Scene> make_rings(const SimulateOptions& options);

/// The nearest place within the field and the range of z.
Place within(const SimulateOptions& options, Place place);

}  // namespace glint
