// The structures that simulated molecules mark: microtubules, rings, or none.
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

/// Returns the structure that the options select, generated from their seed (docs/explanation/theory.md, section 7).
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
    std::int64_t molecule = -1;  ///< the molecule's number if molecules turn on repeatedly; -1: it turns on only once
};

/// Beads at fixed places, whose z rises from frame to frame, for `Structure::beads`.
class BeadStack {
  public:
    /// Throws OptionError if the options' number of beads is not whole, or if they do not fit into the frame.
    explicit BeadStack(const SimulateOptions& options);
    /// Returns the emissions of frames [first, first + count), by frame and then by bead.
    std::vector<Emission> emissions(std::int64_t first, std::int64_t count) const;

  private:
    struct Bead {
        double x_px, y_px, photons;
    };
    std::vector<Bead> beads_;
    double first_z_um_, z_step_um_;
};

/// Throws Cancelled if the options' `stop` is set.
void throw_if_stopped(const SimulateOptions& options);

/// Returns the emissions of frames [first, first + count), by frame and then in the order in which the molecules turned
/// on. They depend only on options and seed. Random streams are indexed by the frame in which a molecule turns on,
/// including frames before the movie's start. Frames can therefore be generated independently
/// (docs/explanation/theory.md, section 7).
std::vector<Emission> emissions(const SimulateOptions& options, const Scene& scene, std::int64_t first,
                                std::int64_t count);

}  // namespace glint
