// Statistics of a movie's counts: extremes, saturation, background over time.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/highest_counts.hpp"
#include "glint/inspect.hpp"

namespace glint {

/// Accumulates statistics frame by frame.
class CountStatistics {
  public:
    /// Adds a frame. Returns whether it has more than one finite count; otherwise it contains no information about
    /// noise.
    bool add(const FrameBlock& block, int frame);

    /// Returns the statistics of all frames added so far.
    MovieCounts result() const;

  private:
    template <class T>
    bool add_pixels(const T* pixels, std::size_t count);

    std::int64_t frames_ = 0, pixels_ = 0, not_finite_ = 0;
    std::optional<double> least_, most_;
    HighestCounts highest_;
    std::vector<double> empty_;    ///< the count of each frame that has a single count
    std::vector<double> medians_;  ///< of the remaining frames
    std::vector<float> sorted_;
};

}  // namespace glint
