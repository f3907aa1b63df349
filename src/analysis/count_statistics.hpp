// Statistics of a movie's counts: extremes, saturation, background over time.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "glint/inspect.hpp"

namespace glint {

/// Takes frames one after the other.
class CountStatistics {
  public:
    /// Whether the frame has more than one count; others say nothing about noise.
    bool add(const FrameBlock& block, int frame);

    /// With the frames so far.
    MovieCounts result() const;

  private:
    template <class T>
    bool add_pixels(const T* pixels, std::size_t count);

    std::int64_t frames_ = 0, empty_ = 0, pixels_ = 0;
    double least_ = 0, most_ = 0;
    std::vector<std::int64_t> histogram_ = std::vector<std::int64_t>(65536);  ///< of counts as whole numbers
    std::vector<double> medians_;                                             ///< of frames that are not empty
    std::vector<float> sorted_;
};

}  // namespace glint
