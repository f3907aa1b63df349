// Chooses the length of the scale bar, and draws it with its label.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "glint/error.hpp"
#include "glint/render.hpp"
#include "render/annotations.hpp"

namespace glint {
namespace {

constexpr std::uint8_t white[3] = {255, 255, 255};
constexpr int smallest_picture_px = 40;  // in smaller pictures, a bar would hide the data

void fill(RgbPicture& picture, int left, int top, int width, int height) {
    for (int y = std::max(top, 0); y < std::min(top + height, picture.height); ++y)
        for (int x = std::max(left, 0); x < std::min(left + width, picture.width); ++x)
            std::memcpy(picture.at(x, y), white, 3);
}

}  // namespace

double fitting_scale_bar_nm(double width_nm) {
    const double wanted = width_nm / 6, decade = std::pow(10, std::floor(std::log10(wanted)));
    double best = decade;
    for (double factor : {2.0, 5.0, 10.0})
        if (std::abs(std::log(factor * decade / wanted)) < std::abs(std::log(best / wanted))) best = factor * decade;
    return best;
}

std::string scale_bar_label(double length_nm) {
    return length_nm < 1000 ? fmt::format("{:.4g} nm", length_nm) : fmt::format("{:.4g} µm", length_nm / 1000);
}

void draw_scale_bar(RgbPicture& picture, double length_nm) {
    const bool chosen = length_nm < 0;
    if (length_nm == 0) return;
    if (!(picture.pixel_size_nm > 0)) {
        if (chosen) return;
        throw OptionError("a scale bar needs the pixel size: `written_pixel_size=100nm`, or no scale bar");
    }
    if (chosen && std::min(picture.width, picture.height) < smallest_picture_px) return;
    const double width_nm = picture.width * picture.pixel_size_nm;
    if (chosen) length_nm = fitting_scale_bar_nm(width_nm);
    if (!(length_nm <= width_nm))
        throw OptionError(
            fmt::format("a scale bar of {} nm is longer than the picture is wide, {:.4g} nm", length_nm, width_nm));
    const int bar = std::max(1, int(std::lround(length_nm / picture.pixel_size_nm)));
    const int edge = std::min(picture.width, picture.height), margin = std::max(3, edge / 30);
    const int thickness = std::max(2, edge / 120), scale = std::max(1, edge / 250);
    const int left = std::max(0, picture.width - margin - bar), top = picture.height - margin - thickness;
    fill(picture, left, top, bar, thickness);
    const std::string label = scale_bar_label(length_nm);
    const int text = text_width(label, scale);
    const int text_left = std::min(left + (bar - text) / 2, picture.width - margin - text);
    draw_text(picture, text_left, top - (glyph_height + 2) * scale, label, scale, white);
}

}  // namespace glint
