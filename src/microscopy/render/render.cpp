// Renders localizations to densities, and densities to colours.
// SPDX-License-Identifier: MIT
#include "glint/render.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>

#include "base/arena.hpp"
#include "base/large_vector.hpp"
#include "glint/error.hpp"
#include "render/annotations.hpp"
#include "render/canvas.hpp"
#include "render/colormap.hpp"

namespace glint {
namespace {

constexpr double farthest_z_nm = 1e6;

/// Returns the quantile of `values`, which must not be empty; reorders them.
float quantile(std::vector<float>& values, double share) {
    const auto k = std::ptrdiff_t(std::clamp(share, 0.0, 1.0) * double(values.size() - 1));
    std::nth_element(values.begin(), values.begin() + k, values.end());
    return values[std::size_t(k)];
}

/// Returns the number of values in each class of `class_of(value)`; -1 is no class.
template <class ClassOf>
std::vector<std::size_t> counts_of(const std::vector<float>& values, std::size_t classes, ClassOf class_of) {
    using Range = tbb::blocked_range<std::size_t>;
    constexpr std::size_t grain = 1 << 20;  // large compared with the table of counts
    return tbb::parallel_reduce(
        Range(0, values.size(), grain), std::vector<std::size_t>(classes, 0),
        [&](const Range& range, std::vector<std::size_t> counts) {
            for (std::size_t k = range.begin(); k < range.end(); ++k)
                if (const int one = class_of(values[k]); one >= 0) ++counts[std::size_t(one)];
            return counts;
        },
        [](std::vector<std::size_t> a, const std::vector<std::size_t>& b) {
            std::transform(a.begin(), a.end(), b.begin(), a.begin(), std::plus<>());
            return a;
        });
}

/// Returns the class that contains the member `rank`. `counts`: members per class, in ascending order. `rank`
/// becomes the rank within that class.
int class_at(const std::vector<std::size_t>& counts, std::size_t& rank) {
    std::size_t at = 0;
    while (rank >= counts[at]) rank -= counts[at++];
    return int(at);
}

/// Returns the density shown at full brightness; 1 for an empty picture. Positive floats have the same order as their
/// bits. A histogram of the upper half of the bits, then one of the lower half, find the quantile.
float full_brightness(const std::vector<float>& density, double saturate_percent) {
    if (!(saturate_percent >= 0 && saturate_percent < 100))
        throw OptionError(
            fmt::format("saturating {} % of the pixels: give 0 or more and less than 100", saturate_percent));
    constexpr std::size_t halves = 1 << 16;
    const auto bits_of = [](float value) {
        return value > 0 && std::isfinite(value) ? std::bit_cast<std::uint32_t>(value) : 0;
    };
    std::uint32_t found = 0;
    in_own_arena([&] {
        auto counts = counts_of(density, halves, [&](float value) { return int(bits_of(value) >> 16); });
        // Class 0 contains numbers below 1e-40, which no dot produces and which are not shown.
        counts[0] = 0;
        const std::size_t filled = std::accumulate(counts.begin(), counts.end(), std::size_t(0));
        if (filled == 0) return;
        auto rank = std::size_t(std::clamp(1 - saturate_percent / 100, 0.0, 1.0) * double(filled - 1));
        const int upper = class_at(counts, rank);
        counts = counts_of(density, halves, [&](float value) {
            const std::uint32_t bits = bits_of(value);
            return int(bits >> 16) == upper ? int(bits & 0xffff) : -1;
        });
        found = std::uint32_t(upper) << 16 | std::uint32_t(class_at(counts, rank));
    });
    return found == 0 ? 1 : std::bit_cast<float>(found);
}

RgbPicture blank(int width, int height, double pixel_size_nm) {
    RgbPicture picture{width, height, pixel_size_nm, {}};
    resize_large(picture.rgb, 3 * std::size_t(width) * std::size_t(height));
    return picture;
}
RgbPicture blank(const Picture& like) { return blank(like.width, like.height, like.pixel_size_nm); }
RgbPicture blank(const Canvas& like) { return blank(like.width(), like.height(), like.pixel_size_nm()); }

/// Colours each pixel by `color(pixel)`, in parallel. `like`: a picture or a canvas of that size.
template <class Like, class Color>
RgbPicture paint(const Like& like, Color color) {
    RgbPicture picture = blank(like);
    in_own_arena([&] {
        tbb::parallel_for(0, picture.height, [&](int y) {
            for (int x = 0; x < picture.width; ++x) {
                const Rgb rgb = color(std::size_t(y) * std::size_t(picture.width) + std::size_t(x));
                std::copy(rgb.begin(), rgb.end(), picture.at(x, y));
            }
        });
    });
    return picture;
}

/// Returns the range of z that the colours span.
std::pair<double, double> z_range(TablePieces& table, const RenderOptions& options) {
    if (!(std::abs(options.z_min_nm) <= farthest_z_nm && std::abs(options.z_max_nm) <= farthest_z_nm))
        throw OptionError(fmt::format(
            "a range of z from {:g} to {:g} nm: give two numbers of at most {:g} (1 mm), as in `z_range=-400:400`",
            options.z_min_nm, options.z_max_nm, farthest_z_nm));
    if (options.z_min_nm != options.z_max_nm) return {options.z_min_nm, options.z_max_nm};
    std::vector<float> z;
    table.for_each([&](const Localizations& piece) {
        std::copy_if(piece.z_nm.begin(), piece.z_nm.end(), std::back_inserter(z),
                     [](float value) { return std::isfinite(value); });
    });
    if (z.empty()) return {-1, 1};
    const double low = quantile(z, 0.01), high = quantile(z, 0.99);
    return low < high ? std::pair{low, high} : std::pair{low - 1, low + 1};
}

/// The value that determines each row's colour, and its range.
struct Hue {
    double (*of)(const Localizations& table, std::size_t row);
    double low = 0, high = 1;
};

Hue hue_of(TablePieces& table, const RenderOptions& options) {
    if (options.color == RenderColor::frame) {
        double last = std::max(double(table.like().frames) - 1, 0.0);
        table.for_each([&](const Localizations& piece) {
            for (std::uint32_t frame : piece.frame) last = std::max(last, double(frame));
        });
        return {[](const Localizations& of, std::size_t row) { return double(of.frame[row]); }, 0, last};
    }
    if (table.like().z_nm.size() != table.like().size())
        throw OptionError(
            "the localizations have no z to colour by: fit them with AstigmaticXYZNB, or colour by density");
    const auto [low, high] = z_range(table, options);
    return {[](const Localizations& of, std::size_t row) { return double(of.z_nm[row]); }, low, high};
}

Canvas canvas_of(const TablePieces& table, const RenderOptions& options) {
    const Localizations* const tables[] = {&table.like()};
    return Canvas(tables, options);
}

/// Computes the hue from the mean of a pixel's localizations, and the brightness from their density.
RgbPicture colored(TablePieces& table, const RenderOptions& options) {
    const Colormap colormap(options.colormap.empty() ? "turbo" : options.colormap);
    const Hue hue = hue_of(table, options);
    // Turbo is nearly black at both ends, but brightness represents density: these parts are not used.
    const double margin = options.colormap.empty() ? 0.1 : 0;
    const Canvas canvas = canvas_of(table, options);
    const Splats splats = splat(canvas, table, [&](const Localizations& of, std::size_t row) {
        const double wide = hue.high == hue.low ? 1 : hue.high - hue.low;  // of one frame, all rows have the first hue
        const double share = (hue.of(of, row) - hue.low) / wide;           // NaN leaves the row out
        return float(margin + (1 - 2 * margin) * std::clamp(share, 0.0, 1.0));
    });
    const float full = full_brightness(splats.density, options.saturate_percent);
    return paint(canvas, [&](std::size_t k) {
        const float value = splats.density[k];
        if (!(value > 0)) return Rgb{0, 0, 0};
        Rgb rgb = colormap(splats.hue[k] / value);
        for (std::uint8_t& c : rgb) c = std::uint8_t(std::lround(c * std::min(value / full, 1.0f)));
        return rgb;
    });
}

struct NamedColor {
    std::string_view name;
    Rgb rgb;
};
/// In the order in which channels use them. The first two are distinguishable with any colour vision.
constexpr NamedColor channel_colors[] = {{"magenta", {255, 0, 255}}, {"green", {0, 255, 0}}, {"cyan", {0, 255, 255}},
                                         {"yellow", {255, 255, 0}},  {"red", {255, 0, 0}},   {"blue", {0, 0, 255}},
                                         {"gray", {255, 255, 255}}};

Rgb channel_color(const RenderOptions& options, std::size_t channel) {
    if (options.channel_colors.empty()) return channel_colors[channel].rgb;
    const std::string& wanted = options.channel_colors[channel];
    for (const NamedColor& color : channel_colors)
        if (color.name == wanted) return color.rgb;
    throw OptionError(fmt::format("no colour {}: there are magenta, green, cyan, yellow, red, blue and gray", wanted));
}

void require_colors(std::size_t tables, const RenderOptions& options) {
    const std::size_t colors =
        options.channel_colors.empty() ? std::size(channel_colors) - 1 : options.channel_colors.size();
    if (tables == 0) throw OptionError("no tables to draw");
    if (tables > colors) throw OptionError(fmt::format("{} tables, but {} colours: give one for each", tables, colors));
    if (options.color != RenderColor::density)
        throw OptionError("several tables are distinguished by colour: z or frames cannot have colours as well");
    for (std::size_t channel = 0; channel < tables; ++channel) channel_color(options, channel);
}

}  // namespace

std::vector<std::string> channel_color_names(std::size_t tables, const RenderOptions& options) {
    require_colors(tables, options);
    if (!options.channel_colors.empty())
        return {options.channel_colors.begin(), options.channel_colors.begin() + std::ptrdiff_t(tables)};
    std::vector<std::string> names;
    for (std::size_t channel = 0; channel < tables; ++channel) names.emplace_back(channel_colors[channel].name);
    return names;
}

std::pair<double, double> color_range(TablePieces& table, const RenderOptions& options) {
    if (options.color == RenderColor::density)
        throw OptionError("colours of the density have no range: colour by z or by frame");
    const Hue hue = hue_of(table, options);
    return {hue.low, hue.high};
}

Picture render(TablePieces& table, const RenderOptions& options) {
    const Canvas canvas = canvas_of(table, options);
    return {canvas.width(), canvas.height(), canvas.pixel_size_nm(), splat(canvas, table).density};
}

Picture render(const Localizations& localizations, const RenderOptions& options) {
    WholeTable table(localizations);
    return render(table, options);
}

RgbPicture colorize(const Picture& density, const RenderOptions& options) {
    const Colormap colormap(options.colormap.empty() ? "inferno" : options.colormap);
    const float full = full_brightness(density.values, options.saturate_percent);
    RgbPicture picture = paint(density, [&](std::size_t k) { return colormap(density.values[k] / full); });
    draw_scale_bar(picture, options.scale_bar_nm);
    return picture;
}

RgbPicture render_rgb(TablePieces& table, const RenderOptions& options) {
    if (options.color == RenderColor::density) return colorize(render(table, options), options);
    RgbPicture picture = colored(table, options);
    draw_scale_bar(picture, options.scale_bar_nm);
    return picture;
}

RgbPicture render_rgb(const Localizations& localizations, const RenderOptions& options) {
    WholeTable table(localizations);
    return render_rgb(table, options);
}

RgbPicture render_channels(std::span<const Localizations> tables, const RenderOptions& options) {
    std::vector<WholeTable> whole(tables.begin(), tables.end());
    std::vector<TablePieces*> pieces;
    for (WholeTable& table : whole) pieces.push_back(&table);
    return render_channels(pieces, options);
}

RgbPicture render_channels(std::span<TablePieces* const> tables, const RenderOptions& options) {
    require_colors(tables.size(), options);
    std::vector<const Localizations*> all;
    for (const TablePieces* table : tables) all.push_back(&table->like());
    const Canvas canvas(all, options);
    RgbPicture picture = paint(canvas, [](std::size_t) { return Rgb{0, 0, 0}; });
    for (std::size_t channel = 0; channel < tables.size(); ++channel) {
        const Rgb color = channel_color(options, channel);
        const std::vector<float> density = splat(canvas, *tables[channel]).density;
        const float full = full_brightness(density, options.saturate_percent);
        picture = paint(canvas, [&](std::size_t k) {
            Rgb rgb;
            for (std::size_t c = 0; c < 3; ++c) {
                const long more = std::lround(color[c] * std::min(density[k] / full, 1.0f));
                rgb[c] = std::uint8_t(std::min(long(picture.rgb[3 * k + c]) + more, 255l));
            }
            return rgb;
        });
    }
    draw_scale_bar(picture, options.scale_bar_nm);
    return picture;
}

}  // namespace glint
