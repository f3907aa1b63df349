// Draws circles, crosses and text on a picture.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "glint/render.hpp"
#include "render/annotations.hpp"

namespace glint {
namespace {

void set_pixel(RgbPicture& picture, std::int64_t x, std::int64_t y, const std::uint8_t (&rgb)[3]) {
    if (x < 0 || y < 0 || x >= picture.width || y >= picture.height) return;
    std::memcpy(picture.at(int(x), int(y)), rgb, 3);
}

/// Returns the integers of [low, high] within [0, end), as a half-open range.
std::pair<int, int> clipped(double low, double high, int end) {
    return {int(std::clamp(std::floor(low), 0.0, double(end))), int(std::clamp(std::ceil(high) + 1, 0.0, double(end)))};
}

}  // namespace

void draw_circle(RgbPicture& picture, double x, double y, double radius, const std::uint8_t (&rgb)[3]) {
    if (!std::isfinite(x) || !std::isfinite(y) || !(radius >= 0)) return;
    const auto [left, right] = clipped(x - radius - 1, x + radius + 1, picture.width);
    const auto [top, bottom] = clipped(y - radius - 1, y + radius + 1, picture.height);
    for (int j = top; j < bottom; ++j)
        for (int i = left; i < right; ++i)
            if (std::abs(std::hypot(i - x, j - y) - radius) < 0.5) set_pixel(picture, i, j, rgb);
}

void draw_cross(RgbPicture& picture, double x, double y, double arm, const std::uint8_t (&rgb)[3]) {
    if (!std::isfinite(x) || !std::isfinite(y) || !(arm >= 0)) return;
    const auto [left, right] = clipped(std::round(x - arm), std::round(x + arm), picture.width);
    const auto [top, bottom] = clipped(std::round(y - arm), std::round(y + arm), picture.height);
    // A line beyond the picture would otherwise be drawn at the picture's edge.
    if (std::abs(x) < 1e9 && y > -1 && y < picture.height)
        for (int i = left; i < right; ++i) set_pixel(picture, i, std::int64_t(std::lround(y)), rgb);
    if (std::abs(y) < 1e9 && x > -1 && x < picture.width)
        for (int j = top; j < bottom; ++j) set_pixel(picture, std::int64_t(std::lround(x)), j, rgb);
}

void draw_text(RgbPicture& picture, int x, int y, std::string_view text, int scale, const std::uint8_t (&rgb)[3]) {
    std::int64_t left = x;
    while (!text.empty() && left < picture.width) {
        const Glyph& glyph = next_glyph(text);
        for (int row = 0; row < glyph_height * scale; ++row)
            for (int column = 0; column < glyph_width * scale; ++column)
                if (glyph.rows[row / scale] >> (glyph_width - 1 - column / scale) & 1)
                    set_pixel(picture, left + column, std::int64_t(y) + row, rgb);
        left += std::int64_t(glyph_width + 1) * scale;
    }
}

}  // namespace glint
