// Rows in the part of the camera that a picture shows.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "glint/error.hpp"
#include "glint/render.hpp"

namespace glint {
namespace {

/// Returns the region as text for --region, with `digits` digits.
std::string region_text(const RenderRegion& of, double pixel_size_nm, int digits) {
    const double scale = pixel_size_nm > 0 ? pixel_size_nm / 1000 : 1;
    const char* unit = pixel_size_nm > 0 ? "um" : "px";
    return fmt::format("{:.{}g}:{:.{}g}{},{:.{}g}:{:.{}g}{}", of.x_begin_px * scale, digits, of.x_end_px * scale,
                       digits, unit, of.y_begin_px * scale, digits, of.y_end_px * scale, digits, unit);
}

}  // namespace

std::size_t rows_in_region(std::span<TablePieces* const> tables, const RenderRegion& region) {
    constexpr double far = std::numeric_limits<double>::infinity();
    RenderRegion all{far, -far, far, -far};
    std::size_t rows = 0, within = 0;
    for (TablePieces* table : tables)
        table->for_each([&](const Localizations& piece) {
            rows += piece.size();
            for (std::size_t k = 0; k < std::min(piece.x_px.size(), piece.y_px.size()); ++k) {
                const double x = piece.x_px[k], y = piece.y_px[k];
                if (!std::isfinite(x) || !std::isfinite(y)) continue;
                within += region.contains(x, y);
                all = {std::min(all.x_begin_px, x), std::max(all.x_end_px, x), std::min(all.y_begin_px, y),
                       std::max(all.y_end_px, y)};
            }
        });
    if (region.is_everything()) return rows;
    if (within == 0 && all.x_begin_px <= all.x_end_px) {
        double nm = 0;  // of the first table that contains it
        for (const TablePieces* table : tables)
            if (!(nm > 0)) nm = table->like().pixel_size_nm;
        throw OptionError(fmt::format("no localization lies in the region {}; they lie in {}",
                                      region_text(region, nm, 10), region_text(all, nm, 5)));
    }
    return within;
}

}  // namespace glint
