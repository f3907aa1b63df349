// Finds the nearest neighbour of each localization in a later frame.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "glint/localizations.hpp"

namespace glint {

/// A localization and its nearest neighbour in a later frame, as indices into FrameNeighbors::places.
struct FramePair {
    std::uint32_t first, second;
    float distance_px;
};

/// The rows with finite positions, sorted by frame and then by x. Thread-safe after construction.
class FrameNeighbors {
  public:
    struct FramePosition {
        std::uint32_t frame;
        float x_px, y_px;
        std::uint32_t row;
    };

    explicit FrameNeighbors(const Localizations& table);

    /// Returns the nearest place within the radius, `lag` frames later, for each place that has one. Pairs are ordered
    /// by `first`. Takes O(n) per pair of frames, plus the places within the radius in x.
    std::vector<FramePair> nearest(std::uint32_t lag, double radius_px) const;

    const std::vector<FramePosition>& places() const { return places_; }

  private:
    std::vector<FramePosition> places_;
    std::vector<std::uint32_t> begin_;  ///< start of each frame that has places, and the end of the last
};

/// The rectangle (camera pixels) that contains nearly all localizations, so that damaged rows far away do not stretch
/// the results. It is centred on the median. Along x and y it extends 20 times as far as 99 % of the places do. It
/// extends at least 10,000 px, more than any camera.
struct Field {
    explicit Field(const FrameNeighbors& neighbors);
    bool holds(const FrameNeighbors::FramePosition& p) const {
        return p.x_px >= left_px && p.x_px <= right_px && p.y_px >= top_px && p.y_px <= bottom_px;
    }
    double left_px = 0, right_px = 0, top_px = 0, bottom_px = 0;
};

}  // namespace glint
