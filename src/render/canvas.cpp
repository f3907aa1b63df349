// The geometry of a picture, checked before memory is allocated.
// SPDX-License-Identifier: MIT
#include "render/canvas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "glint/error.hpp"

namespace glint {
namespace {

/// Number of camera pixels from 0 that contain all finite positions.
double extent(const std::vector<float>& positions_px) {
    double largest = 0;
    for (float position : positions_px)
        if (std::isfinite(position)) largest = std::max(largest, std::floor(position + 0.5));
    return largest + 1;
}

double scale_of(const Localizations& localizations, const RenderOptions& options) {
    const auto positive = [](double value) { return value > 0 && std::isfinite(value); };
    if (options.picture_pixel_nm == 0) {
        if (!positive(options.zoom))
            throw OptionError(
                fmt::format("a zoom of {}: give picture pixels per camera pixel, as in --zoom 10", options.zoom));
        return options.zoom;
    }
    if (!positive(options.picture_pixel_nm))
        throw OptionError(
            fmt::format("picture pixels of {} nm: give more than 0, or a zoom", options.picture_pixel_nm));
    if (!positive(localizations.pixel_size_nm))
        throw OptionError("picture pixels in nm need the camera's pixel size (--pixel-size 100nm); --zoom does not");
    return localizations.pixel_size_nm / options.picture_pixel_nm;
}

void require_columns(const Localizations& localizations, const RenderOptions& options) {
    const std::size_t n = localizations.size();
    if (localizations.x_px.size() != n || localizations.y_px.size() != n)
        throw OptionError(fmt::format("{} frames, but {} values of x and {} of y", n, localizations.x_px.size(),
                                      localizations.y_px.size()));
    const bool precise = localizations.lpx_px.size() == n && localizations.lpy_px.size() == n;
    if (options.mode == RenderMode::gaussian && !precise && !(options.min_blur_px > 0))
        throw OptionError(
            "the localizations have no precision (lpx, lpy) to draw Gaussians with: draw a histogram, "
            "or give one width for all");
    if (!(options.min_blur_px >= 0 && std::isfinite(options.min_blur_px)))
        throw OptionError(fmt::format("a smallest blur of {} px: give 0 or more", options.min_blur_px));
}

}  // namespace

Canvas::Canvas(const Localizations& localizations, const RenderOptions& options)
    : localizations_(localizations), options_(options), scale_(scale_of(localizations, options)) {
    require_columns(localizations, options);
    if (options_.min_blur_px == 0) options_.min_blur_px = 0.5;
    const bool sized = localizations.width > 0 && localizations.height > 0;
    const double columns = sized ? localizations.width : extent(localizations.x_px);
    const double rows = sized ? localizations.height : extent(localizations.y_px);
    // The small offset keeps 128 * (100 / 10) from being rounded up to 1281.
    const double wide = std::max(std::ceil(columns * scale_ - 1e-6), 1.0);
    const double high = std::max(std::ceil(rows * scale_ - 1e-6), 1.0);
    if (const double edge = std::max(wide, high); edge > options.max_edge_px)
        throw OptionError(
            fmt::format("the picture would be {:.0f}x{:.0f} px, more than {} along an edge: shrink it with --zoom "
                        "{:.3g}, or filter "
                        "far-off localizations away",
                        wide, high, options.max_edge_px, scale_ * options.max_edge_px / edge));
    width_ = int(wide), height_ = int(high);
}

double Canvas::blur(const std::vector<float>& precision_px, std::size_t k) const {
    if (options_.mode == RenderMode::histogram) return 0;
    const double sigma = precision_px.empty() ? 0 : precision_px[k] * scale_;
    return std::isfinite(sigma) ? std::max(sigma, options_.min_blur_px) : options_.min_blur_px;
}

std::optional<Dot> Canvas::dot(std::size_t k) const {
    const double x = (localizations_.x_px[k] + 0.5) * scale_, y = (localizations_.y_px[k] + 0.5) * scale_;
    if (!(x >= 0 && x < width_ && y >= 0 && y < height_)) return std::nullopt;
    return Dot{x, y, blur(localizations_.lpx_px, k), blur(localizations_.lpy_px, k)};
}

}  // namespace glint
