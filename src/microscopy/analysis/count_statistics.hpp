// Statistics of a movie's counts: extremes, saturation, background over time.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/highest_counts.hpp"
#include "glint/inspect.hpp"

namespace glint {

/// Takes frames one after the other.
class CountStatistics {
  public:
    /// Whether the frame has more than one finite count; others say nothing about noise.
    bool add(const FrameBlock& block, int frame);

    /// With the frames so far.
    MovieCounts result() const;

  private:
    template <class T>
    bool add_pixels(const T* pixels, std::size_t count);

    std::int64_t frames_ = 0, pixels_ = 0, not_finite_ = 0;
    std::optional<double> least_, most_;
    HighestCounts highest_;
    std::vector<double> empty_;    ///< the count of each frame that has no other
    std::vector<double> medians_;  ///< of the other frames
    std::vector<float> sorted_;
};

}  // namespace glint
