// Counts counts, and looks at the last of them.
// SPDX-License-Identifier: MIT
#include "data/count_histogram.hpp"

#include <cmath>
#include <type_traits>

namespace glint {

template <class Count>
void CountHistogram::add(const Count* pixels, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k)
        if constexpr (std::is_same_v<Count, float>) {
            if (pixels[k] >= 0 && pixels[k] < 65535.5f)
                ++counts_[std::size_t(std::lround(pixels[k]))];
            else
                beyond_ += pixels[k] > 0 && std::isfinite(pixels[k]);
        } else {
            ++counts_[pixels[k]];
        }
}
template void CountHistogram::add(const std::uint8_t*, std::size_t);
template void CountHistogram::add(const std::uint16_t*, std::size_t);
template void CountHistogram::add(const float*, std::size_t);

void CountHistogram::add(const CountHistogram& other) {
    beyond_ += other.beyond_;
    for (std::size_t k = 0; k < counts_.size(); ++k) counts_[k] += other.counts_[k];
}

double CountHistogram::saturation() const {
    constexpr int compared = 8;
    std::size_t at = counts_.size();
    while (at > 0 && counts_[at - 1] == 0) --at;
    if (at < 2 || beyond_ > 0) return 0;
    const std::size_t most = at - 1;
    std::int64_t below = 0;
    int found = 0;
    for (std::size_t k = most; k-- > 0 && found < compared;)
        if (counts_[k] > 0) below += counts_[k], ++found;
    if (found == 0) return fills_bits(double(most)) ? double(most) : 0;
    const bool is_often = counts_[most] >= (fills_bits(double(most)) ? 2 : 10);
    return is_often && double(counts_[most]) > 3.0 * double(below) / found ? double(most) : 0;
}

}  // namespace glint
