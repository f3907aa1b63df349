// Examines the corners first, and more pixels only if a corner is zero.
// SPDX-License-Identifier: MIT
#include "pipeline/zero_border.hpp"

#include <algorithm>

namespace glint {
namespace {

// if a tenth of all pixels is zero, a run this long occurs by chance in 1 of 10^16 positions
constexpr int run_px = 16;
constexpr double max_zeros_in_middle = 0.1;

template <class Count>
bool all_zero(const Count* first, std::ptrdiff_t step) {
    for (int k = 0; k < run_px; ++k)
        if (first[k * step] != 0) return false;
    return true;
}

/// Returns the share of zeros on a grid in the middle half.
template <class Count>
double zeros_in_middle(const Count* counts, int width, int height) {
    constexpr int places = 16;
    int zeros = 0;
    for (int j = 0; j < places; ++j)
        for (int i = 0; i < places; ++i) {
            const int x = width / 4 + i * width / (2 * places), y = height / 4 + j * height / (2 * places);
            zeros += counts[std::ptrdiff_t(y) * width + x] == 0;
        }
    return zeros / double(places * places);
}

template <class Count>
bool has_border(const Count* counts, int width, int height) {
    if (width < 2 * run_px || height < 2 * run_px) return false;
    for (const bool right : {false, true})
        for (const bool below : {false, true}) {
            const std::ptrdiff_t row = width;
            const Count* corner = counts + (below ? (height - 1) * row : 0) + (right ? width - 1 : 0);
            if (*corner != 0) continue;
            if (all_zero(corner, right ? -1 : 1) || all_zero(corner, below ? -row : row))
                return zeros_in_middle(counts, width, height) <= max_zeros_in_middle;
        }
    return false;
}

}  // namespace

bool has_zero_border(const std::byte* counts, PixelType type, int width, int height) {
    switch (type) {
        case PixelType::uint8: return has_border(reinterpret_cast<const std::uint8_t*>(counts), width, height);
        case PixelType::uint16: return has_border(reinterpret_cast<const std::uint16_t*>(counts), width, height);
        case PixelType::float32: return has_border(reinterpret_cast<const float*>(counts), width, height);
    }
    return false;
}

void note_zero_border(const std::byte* counts, PixelType type, int width, int height, std::int64_t frame,
                      BlockCounts& to) {
    if (!has_zero_border(counts, type, width, height)) return;
    ++to.zero_border_frames;
    to.first_zero_border = std::min(to.first_zero_border, frame);
}

void note_zero_borders(const std::byte* counts, const MovieInfo& movie, std::int64_t first, int count,
                       BlockCounts& to) {
    const std::size_t frame_bytes = movie.frame_bytes();
    for (int k = 0; k < count; ++k)
        note_zero_border(counts + std::size_t(k) * frame_bytes, movie.type, movie.width, movie.height, first + k, to);
}

}  // namespace glint
