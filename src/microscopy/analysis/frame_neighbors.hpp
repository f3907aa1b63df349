// Nearest neighbours between frames: each localization's nearest one some frames later.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "glint/localizations.hpp"

namespace glint {

/// A localization and the nearest one of a later frame, as indices into FrameNeighbors::places.
struct FramePair {
    std::uint32_t first, second;
    float distance_px;
};

/// The rows that have finite positions, by frame and then by x. Thread-safe once it is built.
class FrameNeighbors {
  public:
    struct Place {
        std::uint32_t frame;
        float x_px, y_px;
        std::uint32_t row;
    };

    explicit FrameNeighbors(const Localizations& table);

    /// For each place that has one, its nearest within the radius `lag` frames later; ordered by `first`. O(n) per pair of frames
    /// but for places that are within the radius in x.
    std::vector<FramePair> nearest(std::uint32_t lag, double radius_px) const;

    const std::vector<Place>& places() const { return places_; }

  private:
    std::vector<Place> places_;
    std::vector<std::uint32_t> begin_;  ///< of each frame that has places, and the end
};

}  // namespace glint
