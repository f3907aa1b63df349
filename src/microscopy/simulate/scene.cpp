// Uniformly distributed molecules, and the selection of a structure.
// SPDX-License-Identifier: MIT
#include "simulate/scene.hpp"

#include <algorithm>
#include <cmath>

namespace glint {
namespace {

class RandomScene : public Scene {
  public:
    explicit RandomScene(const SimulateOptions& options) : options_(options) {}
    MoleculePosition draw(Random& random) const override {
        const double x = random.uniform(0, options_.width - 1), y = random.uniform(0, options_.height - 1);
        return {x, y, random.uniform(-options_.z_range_nm / 1000, options_.z_range_nm / 1000)};
    }

  private:
    SimulateOptions options_;
};

}  // namespace

MoleculePosition within(const SimulateOptions& options, MoleculePosition place) {
    return {std::clamp(place.x_px, 0.0, options.width - 1.0), std::clamp(place.y_px, 0.0, options.height - 1.0),
            std::clamp(place.z_um, -options.z_range_nm / 1000, options.z_range_nm / 1000)};
}

std::unique_ptr<Scene> make_scene(const SimulateOptions& options) {
    switch (options.structure) {
        case Structure::microtubules: return make_microtubules(options);
        case Structure::rings: return make_rings(options);
        case Structure::random:
        case Structure::beads: break;  // BeadStack draws these
    }
    return std::make_unique<RandomScene>(options);
}

}  // namespace glint
