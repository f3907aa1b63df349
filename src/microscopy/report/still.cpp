// Draws a picture and encodes it in memory.
// SPDX-License-Identifier: MIT
#include "report/still.hpp"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "glint/error.hpp"
#include "glint/render.hpp"
#include "report/base64.hpp"
#include "report/rounded_table.hpp"

namespace glint {
namespace {

constexpr std::size_t max_still_rows = 1000000;

/// Returns random rows, enough for a picture.
Localizations drawn_rows(const Localizations& table) {
    std::vector<std::size_t> keep;
    const auto limit = std::uint64_t(double(max_still_rows) / double(table.size()) * 4294967296.0);
    for (std::size_t row = 0; row < table.size(); ++row)
        if ((row_hash(row) & 0xffffffffu) < limit) keep.push_back(row);
    return select(table, keep);
}

std::string png_text(const RgbPicture& picture) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = png_uint_32(picture.width), image.height = png_uint_32(picture.height);
    image.format = PNG_FORMAT_RGB;
    png_alloc_size_t bytes = 0;
    if (!png_image_write_to_memory(&image, nullptr, &bytes, 0, picture.rgb.data(), 0, nullptr)) return {};
    std::vector<std::uint8_t> png(bytes);
    if (!png_image_write_to_memory(&image, png.data(), &bytes, 0, picture.rgb.data(), 0, nullptr)) return {};
    return base64(std::span(png).first(bytes));
}

}  // namespace

std::string still_picture(const Localizations& table) {
    constexpr double max_edge = 1000;
    if (table.size() == 0) return {};
    RenderOptions options;
    double edge_px = std::max(table.width, table.height);
    if (edge_px == 0)
        for (std::size_t row = 0; row < table.size(); ++row)
            if (std::isfinite(table.x_px[row]) && std::isfinite(table.y_px[row]))
                edge_px = std::max({edge_px, double(table.x_px[row]) + 1, double(table.y_px[row]) + 1});
    options.zoom = edge_px > 0 ? max_edge / edge_px : 1;
    if (table.lpx_px.empty() || table.lpy_px.empty()) options.mode = RenderMode::histogram;
    try {
        return png_text(table.size() > max_still_rows ? render_rgb(drawn_rows(table), options)
                                                      : render_rgb(table, options));
    } catch (const OptionError&) {
        return {};  // the field is too large for a picture
    }
}

}  // namespace glint
