// Keeps a short list of the highest counts, which few pixels have.
// SPDX-License-Identifier: MIT
#include "data/highest_counts.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace glint {

void HighestCounts::add(std::int32_t count, std::int64_t pixels) {
    for (Number& one : counts_) {
        if (one.pixels > 0 && one.count > count) continue;
        if (one.pixels > 0 && one.count == count) {
            one.pixels += pixels;
            return;
        }
        std::move_backward(&one, counts_.end() - 1, counts_.end());
        one = {count, pixels};
        return;
    }
}

template <class Count>
void HighestCounts::add(const Count* pixels, std::size_t count) {
    constexpr std::size_t together = 256;
    for (std::size_t begin = 0; begin < count; begin += together) {
        const std::size_t end = std::min(begin + together, count);
        if constexpr (std::is_same_v<Count, float>) {
            for (std::size_t k = begin; k < end; ++k)
                if (!(pixels[k] >= 0 && pixels[k] < 65535.5f))
                    beyond_ += pixels[k] > 0 && std::isfinite(pixels[k]);
                else if (pixels[k] + 1 >= float(least()))
                    add(std::int32_t(std::lround(pixels[k])), 1);
        } else {
            Count most = 0;
            for (std::size_t k = begin; k < end; ++k) most = pixels[k] > most ? pixels[k] : most;
            if (most < least()) continue;
            for (std::size_t k = begin; k < end; ++k)
                if (pixels[k] >= least()) add(pixels[k], 1);
        }
    }
}
template void HighestCounts::add(const std::uint8_t*, std::size_t);
template void HighestCounts::add(const std::uint16_t*, std::size_t);
template void HighestCounts::add(const float*, std::size_t);

void HighestCounts::add(const HighestCounts& other) {
    beyond_ += other.beyond_;
    for (const Number& one : other.counts_)
        if (one.pixels > 0) add(one.count, one.pixels);
}

double HighestCounts::saturation() const {
    const Number& most = counts_.front();
    if (most.count < 1 || beyond_ > 0) return 0;
    std::int64_t below = 0;
    int found = 0;
    for (std::size_t k = 1; k < counts_.size() && counts_[k].pixels > 0; ++k) below += counts_[k].pixels, ++found;
    if (found == 0) return fills_bits(most.count) ? most.count : 0;
    const bool is_often = most.pixels >= (fills_bits(most.count) ? 2 : 10);
    return is_often && double(most.pixels) > 3.0 * double(below) / found ? most.count : 0;
}

}  // namespace glint
