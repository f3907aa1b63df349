// Renders localizations to densities, and densities to colours.
// SPDX-License-Identifier: MIT
#include "glint/render.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "base/arena.hpp"
#include "glint/error.hpp"
#include "render/canvas.hpp"
#include "render/colormap.hpp"
#include "render/scale_bar.hpp"
#include "render/splat.hpp"

namespace glint {
namespace {

/// The quantile of `values` (not empty); reorders them.
float quantile(std::vector<float>& values, double share) {
    const auto k = std::ptrdiff_t(std::clamp(share, 0.0, 1.0) * double(values.size() - 1));
    std::nth_element(values.begin(), values.begin() + k, values.end());
    return values[std::size_t(k)];
}

/// The density shown at full brightness; 1 for an empty picture.
float full_brightness(const std::vector<float>& density, double saturate_percent) {
    if (!(saturate_percent >= 0 && saturate_percent < 100))
        throw OptionError(
            fmt::format("saturating {} % of the pixels: give 0 or more and less than 100", saturate_percent));
    std::vector<float> filled;
    std::copy_if(density.begin(), density.end(), std::back_inserter(filled),
                 [](float value) { return value > 0 && std::isfinite(value); });
    return filled.empty() ? 1 : quantile(filled, 1 - saturate_percent / 100);
}

/// Colours each pixel by `color(pixel)`, in parallel.
template <class Color>
RgbPicture paint(const Picture& density, Color color) {
    RgbPicture picture;
    picture.width = density.width, picture.height = density.height;
    picture.pixel_size_nm = density.pixel_size_nm;
    picture.rgb.resize(3 * density.values.size());
    in_own_arena([&] {
        tbb::parallel_for(0, density.height, [&](int y) {
            for (int x = 0; x < density.width; ++x) {
                const Rgb rgb = color(std::size_t(y) * density.width + x);
                std::copy(rgb.begin(), rgb.end(), picture.at(x, y));
            }
        });
    });
    return picture;
}

Picture picture_of(const Canvas& canvas, std::vector<float> values) {
    return {canvas.width(), canvas.height(), canvas.pixel_size_nm(), std::move(values)};
}

/// The range of z that colours span.
std::pair<double, double> z_range(const Localizations& localizations, const RenderOptions& options) {
    if (options.z_min_nm != options.z_max_nm) return {options.z_min_nm, options.z_max_nm};
    std::vector<float> z;
    std::copy_if(localizations.z_nm.begin(), localizations.z_nm.end(), std::back_inserter(z),
                 [](float value) { return std::isfinite(value); });
    if (z.empty()) return {-1, 1};
    const double low = quantile(z, 0.01), high = quantile(z, 0.99);
    return low < high ? std::pair{low, high} : std::pair{low - 1, low + 1};
}

/// Hue from the mean z of a pixel, brightness from its density.
RgbPicture colored_by_z(const Localizations& localizations, const RenderOptions& options) {
    if (localizations.z_nm.size() != localizations.size())
        throw OptionError(
            "the localizations have no z to colour by: fit them with AstigmaticXYZNB, or colour by density");
    const Colormap colormap(options.colormap.empty() ? "turbo" : options.colormap);
    const auto [low, high] = z_range(localizations, options);
    // A NaN weight excludes a localization from both sums.
    std::vector<float> hue(localizations.z_nm), one(hue);
    // Turbo is nearly black at both ends, but brightness represents density: these parts are not used.
    const double margin = options.colormap.empty() ? 0.1 : 0;
    for (float& z : hue) z = float(margin + (1 - 2 * margin) * std::clamp((z - low) / (high - low), 0.0, 1.0));
    for (float& z : one) z = std::isfinite(z) ? 1 : z;
    const Canvas canvas(localizations, options);
    const std::vector<float> hue_sum = splat(canvas, hue);
    const Picture density = picture_of(canvas, splat(canvas, one));
    const float full = full_brightness(density.values, options.saturate_percent);
    return paint(density, [&](std::size_t k) {
        const float value = density.values[k];
        if (!(value > 0)) return Rgb{0, 0, 0};
        Rgb rgb = colormap(hue_sum[k] / value);
        for (std::uint8_t& c : rgb) c = std::uint8_t(std::lround(c * std::min(value / full, 1.0f)));
        return rgb;
    });
}

}  // namespace

Picture render(const Localizations& localizations, const RenderOptions& options) {
    const Canvas canvas(localizations, options);
    return picture_of(canvas, splat(canvas, {}));
}

RgbPicture colorize(const Picture& density, const RenderOptions& options) {
    const Colormap colormap(options.colormap.empty() ? "inferno" : options.colormap);
    const float full = full_brightness(density.values, options.saturate_percent);
    RgbPicture picture = paint(density, [&](std::size_t k) { return colormap(density.values[k] / full); });
    draw_scale_bar(picture, options.scale_bar_nm);
    return picture;
}

RgbPicture render_rgb(const Localizations& localizations, const RenderOptions& options) {
    if (!options.color_z) return colorize(render(localizations, options), options);
    RgbPicture picture = colored_by_z(localizations, options);
    draw_scale_bar(picture, options.scale_bar_nm);
    return picture;
}

}  // namespace glint
