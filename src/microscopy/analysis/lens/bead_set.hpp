// The beads that a PSF is estimated from.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/lens/bead_window.hpp"

namespace glint::lens {

/// Windows, positions and candidates of beads.
struct BeadSet {
    std::vector<BeadWindow> windows;
    std::vector<BeadPlace> places;
    std::vector<std::size_t> candidates;  ///< index of each

    std::size_t size() const { return windows.size(); }
    void erase(std::size_t b) {
        const auto at = std::ptrdiff_t(b);
        windows.erase(windows.begin() + at), places.erase(places.begin() + at);
        candidates.erase(candidates.begin() + at);
    }
};

}  // namespace glint::lens
