// The highest of a movie's counts, which show where the camera saturates.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace glint {

/// Returns true for 255, 511, ..., 65535: the largest count of a number of bits.
inline bool fills_bits(double count) {
    const auto whole = std::int64_t(count);
    return whole >= 255 && (whole & (whole + 1)) == 0;
}

/// The highest counts, and how many pixels have each.
class HighestCounts {
  public:
    /// Adds counts. Rounds floats to the nearest whole count, and skips those below 0, beyond 65535 or not finite.
    template <class Count>
    void add(const Count* pixels, std::size_t count);
    void add(const HighestCounts& other);

    /// Returns how many finite counts are beyond 65535. If there are any, saturation() is 0.
    std::int64_t beyond() const { return beyond_; }
    /// Returns the highest count up to 65535, and the number of pixels that have it; 0 if there is none.
    double highest() const { return counts_.front().count; }
    std::int64_t pixels_with_highest() const { return counts_.front().pixels; }
    /// Returns how many pixels have one of the highest counts that is at least `least`.
    std::int64_t pixels_from(double least) const {
        std::int64_t sum = 0;
        for (const Number& one : counts_) sum += one.count >= least ? one.pixels : 0;
        return sum;
    }
    /// Returns the highest count if it is the camera's limit: far more frequent than the counts below it, unlike a
    /// tail of noise. Counts that fill a number of bits need less. Returns 0 otherwise, or if there is no other
    /// count to compare with.
    double saturation() const;

  private:
    struct Number {
        std::int32_t count = 0;
        std::int64_t pixels = 0;
    };
    void add(std::int32_t count, std::int64_t pixels);
    /// Returns the lowest count in a full list; lower counts are not added.
    std::int32_t least() const { return counts_.back().pixels > 0 ? counts_.back().count : 0; }

    std::int64_t beyond_ = 0;
    std::array<Number, 9> counts_;  // in descending order; unused entries come last
};

/// Returns the level at which the camera or the file's type clips; 0 if none is found. The type's largest count always
/// is such a level, since larger values cannot be stored.
template <class Count>
double saturation_of(const HighestCounts& counts) {
    if constexpr (!std::is_same_v<Count, float>)
        if (counts.highest() == double(std::numeric_limits<Count>::max())) return std::numeric_limits<Count>::max();
    return counts.saturation();
}

}  // namespace glint
