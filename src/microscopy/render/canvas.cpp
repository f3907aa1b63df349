// The geometry of a picture, checked before memory is allocated.
// SPDX-License-Identifier: MIT
#include "render/canvas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/table_facts.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

/// Returns the number of camera pixels from 0 that contain all finite positions.
double extent(const std::vector<float>& positions_px) {
    double largest = 0;
    for (float position : positions_px)
        if (std::isfinite(position)) largest = std::max(largest, std::floor(position + 0.5));
    return largest + 1;
}

/// Returns the pixel size of the tables' camera; 0 if unknown.
double camera_pixel_nm(std::span<const Localizations* const> tables) {
    double nm = 0;
    for (const Localizations* table : tables) {
        if (!are_same_pixels(nm, table->pixel_size_nm))
            throw OptionError(
                fmt::format("tables of pixels of {:g} and {:g} nm are not of one picture", nm, table->pixel_size_nm));
        if (nm == 0) nm = table->pixel_size_nm;
    }
    return nm;
}

double scale_of(double camera_pixel_nm, const RenderOptions& options, const RenderRegion& shown) {
    const auto positive = [](double value) { return value > 0 && std::isfinite(value); };
    if (options.picture_pixel_nm == 0 && options.zoom == 0) {
        constexpr double default_zoom = 10, min_edge_px = 1000;
        const double edge = std::max(shown.x_end_px - shown.x_begin_px, shown.y_end_px - shown.y_begin_px);
        return std::max(default_zoom, std::ceil(min_edge_px / edge));
    }
    if (options.picture_pixel_nm == 0) {
        if (!positive(options.zoom))
            throw OptionError(
                fmt::format("a zoom of {}: give picture pixels per camera pixel, as in `zoom=10`", options.zoom));
        return options.zoom;
    }
    if (!positive(options.picture_pixel_nm))
        throw OptionError(
            fmt::format("picture pixels of {} nm: give more than 0, or a zoom", options.picture_pixel_nm));
    if (!positive(camera_pixel_nm))
        throw OptionError(
            "picture pixels in nm need the camera's pixel size (`written_pixel_size=100nm`); `zoom` does not");
    return camera_pixel_nm / options.picture_pixel_nm;
}

void require_columns(const Localizations& localizations, const RenderOptions& options) {
    const std::size_t n = localizations.size();
    if (localizations.x_px.size() != n || localizations.y_px.size() != n)
        throw OptionError(fmt::format("{} frames, but {} values of x and {} of y", n, localizations.x_px.size(),
                                      localizations.y_px.size()));
    const bool precise = localizations.lpx_px.size() == n && localizations.lpy_px.size() == n;
    const bool is_valid = options.blur_nm >= 0 && std::isfinite(options.blur_nm) && options.blur_factor > 0 &&
                          std::isfinite(options.blur_factor);
    if (!is_valid)
        throw OptionError(fmt::format(
            "a blur of {:g} nm and a blur factor of {:g}: the blur must be 0 or more, and the factor more than 0",
            options.blur_nm, options.blur_factor));
    if (options.blur_nm > 0 && !(localizations.pixel_size_nm > 0))
        throw OptionError("a blur in nm needs the camera's pixel size (`written_pixel_size=100nm`)");
    if (options.mode == RenderMode::gaussian && !precise && !(options.min_blur_px > 0) && !(options.blur_nm > 0))
        throw OptionError(
            "the localizations have no precision (lpx, lpy) to draw Gaussians with: draw a histogram, "
            "or give one width for all");
    if (!(options.min_blur_px >= 0 && std::isfinite(options.min_blur_px)))
        throw OptionError(fmt::format("a smallest blur of {} px: give 0 or more", options.min_blur_px));
}

/// Returns the part of the camera that the picture shows, in camera pixels from the camera's edge.
RenderRegion shown(std::span<const Localizations* const> tables, const RenderOptions& options) {
    const RenderRegion& asked = options.region;
    if (!asked.is_everything()) {
        if (!(asked.x_begin_px < asked.x_end_px && asked.y_begin_px < asked.y_end_px) ||
            !std::isfinite(asked.x_end_px - asked.x_begin_px + asked.y_end_px - asked.y_begin_px))
            throw OptionError(
                fmt::format("a region from x = {:g} to {:g} px and y = {:g} to {:g} px: begin below the end",
                            asked.x_begin_px, asked.x_end_px, asked.y_begin_px, asked.y_end_px));
        return {asked.x_begin_px + 0.5, asked.x_end_px + 0.5, asked.y_begin_px + 0.5, asked.y_end_px + 0.5};
    }
    RenderRegion all{0, 0, 0, 0};
    for (const Localizations* table : tables) {
        const bool is_sized = table->width > 0 && table->height > 0;
        all.x_end_px = std::max(all.x_end_px, is_sized ? table->width : extent(table->x_px));
        all.y_end_px = std::max(all.y_end_px, is_sized ? table->height : extent(table->y_px));
    }
    return all;
}

/// Returns true if a dot covers a part of the `pixels` pixels of an axis. False for NaN.
bool reaches(double centre, double sigma, int pixels) {
    return std::floor(centre + dot_reach * sigma) >= 0 && std::floor(centre - dot_reach * sigma) < pixels;
}

/// Returns the edge as text: "20480", or "1.2e+300" instead of 300 digits.
std::string edge_text(double px) { return px < 1e15 ? fmt::format("{:.0f}", px) : fmt::format("{:.3g}", px); }

}  // namespace

Canvas::Canvas(std::span<const Localizations* const> tables, const RenderOptions& options) : options_(options) {
    const double camera_nm = camera_pixel_nm(tables);
    const RenderRegion region = shown(tables, options);
    scale_ = scale_of(camera_nm, options, region);
    pixel_size_nm_ = camera_nm / scale_;
    for (const Localizations* table : tables) require_columns(*table, options);
    if (options_.min_blur_px == 0) options_.min_blur_px = 0.5;
    x_px_ = region.x_begin_px, y_px_ = region.y_begin_px;
    // The small offset keeps 128 * (100 / 10) from being rounded up to 1281.
    const double wide = std::max(std::ceil((region.x_end_px - region.x_begin_px) * scale_ - 1e-6), 1.0);
    const double high = std::max(std::ceil((region.y_end_px - region.y_begin_px) * scale_ - 1e-6), 1.0);
    if (const double edge = std::max(wide, high); edge > options.max_edge_px)
        throw OptionError(fmt::format(
            "the picture would be {}x{} px, more than {} along an edge: {}, or filter far-off localizations "
            "away",
            edge_text(wide), edge_text(high), options.max_edge_px,
            options.picture_pixel_nm > 0
                ? fmt::format("take picture pixels of {:.3g} nm or more", pixel_size_nm_ * edge / options.max_edge_px)
                : fmt::format("shrink it with `zoom={:.3g}`", scale_ * options.max_edge_px / edge)));
    width_ = int(wide), height_ = int(high);
}

float Canvas::blur(const std::vector<float>& precision_px, std::size_t row) const {
    if (options_.mode == RenderMode::histogram) return 0;
    const double sigma = options_.blur_nm > 0   ? options_.blur_nm / pixel_size_nm_
                         : precision_px.empty() ? 0
                                                : precision_px[row] * options_.blur_factor * scale_;
    return float(std::isfinite(sigma) ? std::max(sigma, options_.min_blur_px) : options_.min_blur_px);
}

Dot Canvas::dot(const Localizations& table, std::size_t row) const {
    Dot dot;
    dot.x = (table.x_px[row] + 0.5 - x_px_) * scale_, dot.y = (table.y_px[row] + 0.5 - y_px_) * scale_;
    dot.sigma_x = blur(table.lpx_px, row), dot.sigma_y = blur(table.lpy_px, row);
    dot.is_inside = reaches(dot.x, dot.sigma_x, width_) && reaches(dot.y, dot.sigma_y, height_);
    return dot;
}

}  // namespace glint
