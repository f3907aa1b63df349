// Molecules that turn on at random and stay on for a geometric number of frames.
// SPDX-License-Identifier: MIT
#include "simulate/blinking.hpp"

#include <algorithm>
#include <cmath>

namespace glint {
namespace {

/// In mean on-times; longer on-times have a probability of e^-30.
std::int64_t longest_on(const SimulateOptions& options) {
    return options.on_frames > 1 ? std::int64_t(std::ceil(30 * options.on_frames)) : 1;
}

/// Adds one molecule's emissions in frames [first, end).
void add_molecule(const SimulateOptions& options, const Scene& scene, std::int64_t born, std::uint32_t number,
                  std::int64_t first, std::int64_t end, std::vector<Emission>& out) {
    Random random(options.seed, Stream::molecule, std::uint64_t(born), number);
    const double on = std::min(random.geometric(options.on_frames), double(longest_on(options)));
    const std::int64_t gone = born + std::int64_t(on);
    if (gone <= first) return;
    const Place place = scene.draw(random);
    for (std::int64_t frame = born; frame < std::min(gone, end); ++frame) {
        const double photons = random.uniform(options.photons_min, options.photons_max);
        if (frame >= first) out.push_back({frame, place, photons});
    }
}

}  // namespace

std::vector<Emission> emissions(const SimulateOptions& options, const Scene& scene, std::int64_t first,
                                std::int64_t count) {
    std::vector<Emission> found;
    const std::int64_t end = first + count;
    for (std::int64_t born = first - longest_on(options) + 1; born < end; ++born) {
        Random random(options.seed, Stream::births, std::uint64_t(born));
        const auto molecules = std::uint32_t(random.poisson(options.spots_per_frame / options.on_frames));
        for (std::uint32_t k = 0; k < molecules; ++k) add_molecule(options, scene, born, k, first, end, found);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Emission& a, const Emission& b) { return a.frame < b.frame; });
    return found;
}

}  // namespace glint
