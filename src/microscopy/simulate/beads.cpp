// A z-stack of beads at random places that do not overlap.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "glint/error.hpp"
#include "simulate/scene.hpp"

namespace glint {

BeadStack::BeadStack(const SimulateOptions& options)
    : first_z_um_(options.frames > 1 ? -options.z_range_nm / 1000 : 0),
      z_step_um_(options.frames > 1 ? 2 * options.z_range_nm / 1000 / double(options.frames - 1) : 0) {
    constexpr int attempts = 20000;  // per bead
    const double wanted = options.spots_per_frame;
    if (!(wanted >= 1 && wanted <= max_beads && wanted == std::floor(wanted)))
        throw OptionError(fmt::format("{:g} beads: give a whole number from 1 to {}", wanted, max_beads));
    const double edge = min_bead_distance_px, right = options.width - 1 - edge, bottom = options.height - 1 - edge;
    Random random(options.seed, Stream::beads, 0);
    for (int tries = 0; double(beads_.size()) < wanted; ++tries) {
        throw_if_stopped(options);
        if (tries == attempts || right < edge || bottom < edge)
            throw OptionError(
                fmt::format("only {} of {:g} beads fit into {}x{} px, {:g} px from each other and from the edges: give "
                            "larger frames or fewer beads",
                            beads_.size(), wanted, options.width, options.height, min_bead_distance_px));
        const double x = random.uniform(edge, right), y = random.uniform(edge, bottom);
        if (std::any_of(beads_.begin(), beads_.end(), [&](const Bead& other) {
                return std::hypot(x - other.x_px, y - other.y_px) < min_bead_distance_px;
            }))
            continue;
        beads_.push_back({x, y, random.uniform(options.photons_min, options.photons_max)});
        tries = -1;
    }
}

std::vector<Emission> BeadStack::emissions(std::int64_t first, std::int64_t count) const {
    std::vector<Emission> found;
    for (std::int64_t frame = first; frame < first + count; ++frame)
        for (std::size_t k = 0; k < beads_.size(); ++k)
            found.push_back({frame,
                             {beads_[k].x_px, beads_[k].y_px, first_z_um_ + double(frame) * z_step_um_},
                             beads_[k].photons,
                             std::int64_t(k)});
    return found;
}

}  // namespace glint
