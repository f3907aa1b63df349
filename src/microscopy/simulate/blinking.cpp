// Molecules that turn on at random and stay on for a geometric number of frames.
// SPDX-License-Identifier: MIT
#include "simulate/scene.hpp"

#include <algorithm>
#include <cmath>

#include "glint/error.hpp"

namespace glint {
namespace {

/// Returns an upper limit of on-times: 30 mean on-times, which only e^-30 of them exceed.
std::int64_t longest_on(const SimulateOptions& options) {
    return options.on_frames > 1 ? std::int64_t(std::ceil(30 * options.on_frames)) : 1;
}

/// Returns the number of molecules in the whole movie, if they turn on repeatedly.
double molecules_of(const SimulateOptions& options) {
    const double times = options.spots_per_frame / options.on_frames * double(options.frames);
    return std::max(1.0, std::round(times / options.blinks));
}

/// Adds one molecule's emissions in frames [first, end).
void add_molecule(const SimulateOptions& options, const Scene& scene, std::int64_t born, std::uint32_t number,
                  std::int64_t first, std::int64_t end, std::vector<Emission>& out) {
    Random random(options.seed, Stream::molecule, std::uint64_t(born), number);
    const double on = std::min(random.geometric(options.on_frames), double(longest_on(options)));
    const std::int64_t gone = born + std::int64_t(on);
    if (gone <= first) return;
    std::int64_t molecule = -1;
    if (options.blinks > 0) molecule = std::int64_t(random.uniform() * molecules_of(options));
    Random of_molecule(options.seed, Stream::place, std::uint64_t(molecule));
    const MoleculePosition place = scene.draw(molecule < 0 ? random : of_molecule);
    for (std::int64_t frame = born; frame < std::min(gone, end); ++frame) {
        const double photons = random.uniform(options.photons_min, options.photons_max);
        if (frame >= first) out.push_back({frame, place, photons, molecule});
    }
}

}  // namespace

void throw_if_stopped(const SimulateOptions& options) {
    if (options.stop && *options.stop) throw Cancelled("stopped: the movie was not simulated");
}

std::vector<Emission> emissions(const SimulateOptions& options, const Scene& scene, std::int64_t first,
                                std::int64_t count) {
    std::vector<Emission> found;
    const std::int64_t end = first + count;
    for (std::int64_t born = first - longest_on(options) + 1; born < end; ++born) {
        throw_if_stopped(options);
        Random random(options.seed, Stream::births, std::uint64_t(born));
        const auto molecules = std::uint32_t(random.poisson(options.spots_per_frame / options.on_frames));
        for (std::uint32_t k = 0; k < molecules; ++k) add_molecule(options, scene, born, k, first, end, found);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Emission& a, const Emission& b) { return a.frame < b.frame; });
    return found;
}

}  // namespace glint
