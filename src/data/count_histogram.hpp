// A histogram of a movie's counts, whose end shows where the camera saturates.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace glint {

/// Whether it is 255, 511, ..., 65535: the largest count of so many bits.
inline bool fills_bits(double count) {
    const auto whole = std::int64_t(count);
    return whole >= 255 && (whole & (whole + 1)) == 0;
}

class CountHistogram {
  public:
    /// Floats as the nearest whole count, without those below 0, beyond 65535 or not finite.
    template <class Count>
    void add(const Count* pixels, std::size_t count);
    void add(const CountHistogram& other);

    /// How many finite counts are beyond 65535: then no limit is told.
    std::int64_t beyond() const { return beyond_; }
    /// How many pixels had this count, a whole number.
    std::int64_t at(double count) const { return counts_[std::size_t(count)]; }
    /// The highest count, if it is the camera's limit: far more frequent than the counts below it, as no tail of noise is. Counts
    /// that fill a number of bits need less. Else 0, as where there is no other count to compare with.
    double saturation() const;

  private:
    std::int64_t beyond_ = 0;
    std::vector<std::int64_t> counts_ = std::vector<std::int64_t>(65536);
};

/// The level at which the camera or the file's type cuts off; 0: none is seen. The type's largest count is one wherever it
/// occurs, since nothing beyond it can be stored.
template <class Count>
double saturation_of(const CountHistogram& histogram) {
    if constexpr (!std::is_same_v<Count, float>)
        if (histogram.at(std::numeric_limits<Count>::max()) > 0) return std::numeric_limits<Count>::max();
    return histogram.saturation();
}

}  // namespace glint
