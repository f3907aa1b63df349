// Joins nearest neighbours of consecutive frames.
// SPDX-License-Identifier: MIT
#include "analysis/blinks.hpp"

namespace glint {

Blinks::Blinks(const FrameNeighbors& neighbors, double radius_px, int dark_frames) {
    constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    const std::size_t n = neighbors.places().size();
    std::vector<std::uint32_t> before(n, none);  // the place whose blink each one continues
    std::vector<bool> continued(n, false);
    for (int dark = 0; dark <= dark_frames; ++dark)
        for (const FramePair& pair : neighbors.nearest(std::uint32_t(dark) + 1, radius_px))
            if (before[pair.second] == none && !continued[pair.first])
                before[pair.second] = pair.first, continued[pair.first] = true;
    number.resize(n);
    for (std::size_t k = 0; k < n; ++k) number[k] = before[k] == none ? blinks++ : number[before[k]];
}

}  // namespace glint
