// Fourier ring correlation: transforms groups of blinks or blocks once, and combines them to all balanced halves.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <numbers>
#include <vector>

#include "analysis/fourier.hpp"
#include "analysis/frame_neighbors.hpp"
#include "analysis/frc.hpp"
#include "analysis/nena.hpp"
#include "analysis/require_table.hpp"
#include "base/arena.hpp"

namespace glint {
namespace {

/// The blink of each place, numbered from 0 in the order of frames. A place joins the blink of an earlier place if it
/// is that place's nearest neighbour within the radius. Up to `dark_frames` frames may lie between.
struct Blinks {
    Blinks(const FrameNeighbors& neighbors, double radius_px, int dark_frames);

    std::vector<std::uint32_t> number;
    std::uint32_t blinks = 0;
};

Blinks::Blinks(const FrameNeighbors& neighbors, double radius_px, int dark_frames) {
    constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    const std::size_t n = neighbors.places().size();
    std::vector<std::uint32_t> before(n, none);  // the place whose blink each place continues
    std::vector<bool> continued(n, false);
    for (int dark = 0; dark <= dark_frames; ++dark)
        for (const FramePair& pair : neighbors.nearest(std::uint32_t(dark) + 1, radius_px))
            if (before[pair.second] == none && !continued[pair.first])
                before[pair.second] = pair.first, continued[pair.first] = true;
    number.resize(n);
    for (std::size_t k = 0; k < n; ++k) number[k] = before[k] == none ? blinks++ : number[before[k]];
}

constexpr int largest_tile_edge = 1024;  // in pixels; transforms of a tile stay in a cache
// Tried in this order. Values below 2 need hundreds of blinks per molecule.
constexpr double finest_in_nena[] = {3, 2.1, 1.5};
constexpr double clear_of_end = 1.03;  // a resolution this far above the end of its curve is accepted
constexpr double link_radius_in_nena = 5;
constexpr double max_tiles = 4e6;  // of a field, empty tiles included
// In all rings up to the resolution. With fewer pixels, three standard deviations of a chance correlation exceed 1/7.
constexpr double fewest_fourier_pixels = 3 * 7 * 3 * 7;

// A resolution may be due to the outline alone if it is coarser than this share of the resolution of random points.
constexpr double share_of_random = 0.5;

/// Returns a well-mixed number for a counter (splitmix64).
std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/// Returns the group of each place, at random and the same for all places of a unit.
std::vector<std::uint8_t> groups_of(const FrameNeighbors& neighbors, const FrcOptions& options, double link_radius_px,
                                    std::size_t& units) {
    const auto& places = neighbors.places();
    std::vector<std::uint8_t> groups(places.size());
    const auto group = [&](std::uint64_t unit) { return std::uint8_t(mixed(mixed(options.seed) + unit) % frc_groups); };
    if (options.split == FrcSplit::blocks) {
        // Deals blocks to the groups in changing order, so that each group has as many blocks of every part of the
        // movie.
        std::uint64_t last = std::uint64_t(-1);
        for (std::size_t k = 0; k < places.size(); ++k) {
            const std::uint64_t block = places[k].frame / std::uint32_t(options.block_frames);
            units += block != last, last = block;
            std::array<std::uint8_t, frc_groups> order{0, 1, 2, 3, 4, 5};
            std::uint64_t chance = mixed(mixed(options.seed) + block / frc_groups);
            for (std::size_t i = frc_groups - 1; i > 0; --i, chance = mixed(chance))
                std::swap(order[i], order[chance % (i + 1)]);
            groups[k] = order[block % frc_groups];
        }
        return groups;
    }
    const Blinks blinks(neighbors, link_radius_px, options.dark_frames);
    units = blinks.blinks;
    for (std::size_t k = 0; k < places.size(); ++k) groups[k] = group(blinks.number[k]);
    return groups;
}

/// The field in tiles of equal edges, and the points of each occupied tile. Leaves out places outside the Field.
struct Tiles {
    FourierGrid grid{};
    double pixel_px = 0;  ///< edge of a grid pixel in camera pixels
    double area_px2 = 0;  ///< half the squared diagonal of the field, so that lines in all directions are equal
    std::vector<std::vector<TilePoint>> points;  ///< empty if there are too many tiles
    FieldOutline outline;

    Tiles(const FrameNeighbors& neighbors, const std::vector<std::uint8_t>& groups, double wanted_pixel_px)
        : pixel_px(wanted_pixel_px) {
        const auto& places = neighbors.places();
        const Field field(neighbors);
        constexpr float far = std::numeric_limits<float>::infinity();
        float left = far, right = -far, top = far, bottom = -far;
        for (const auto& p : places) {
            if (!field.holds(p)) continue;
            left = std::min(left, p.x_px), right = std::max(right, p.x_px);
            top = std::min(top, p.y_px), bottom = std::max(bottom, p.y_px);
        }
        const double width_px = double(right) - left, height_px = double(bottom) - top;
        area_px2 = 0.5 * (width_px * width_px + height_px * height_px);
        const double width = width_px / pixel_px + 1, height = height_px / pixel_px + 1;
        const double longest = std::max(width, height);
        const double tiles = std::ceil(longest / largest_tile_edge);
        grid.edge = good_edge(std::max(48, int(std::min(std::ceil(longest / tiles), double(largest_tile_edge)))));
        const double across = std::ceil(width / grid.edge), down = std::ceil(height / grid.edge);
        if (!(across * down <= max_tiles)) return;
        // Centre the field in its tiles.
        const double x0 = 0.5 * (across * grid.edge - width) - left / pixel_px,
                     y0 = 0.5 * (down * grid.edge - height) - top / pixel_px;
        std::vector<std::vector<TilePoint>> all(std::size_t(across * down));
        for (std::size_t k = 0; k < places.size(); ++k) {
            if (!field.holds(places[k])) continue;
            const double x = places[k].x_px / pixel_px + x0, y = places[k].y_px / pixel_px + y0;
            const double column = std::floor(x / grid.edge), row = std::floor(y / grid.edge);
            const auto tile =
                std::size_t(std::clamp(row, 0.0, down - 1) * across + std::clamp(column, 0.0, across - 1));
            all[tile].push_back({float(x - column * grid.edge), float(y - row * grid.edge), groups[k]});
        }
        outline = {grid, x0 + left / pixel_px, x0 + right / pixel_px, y0 + top / pixel_px, y0 + bottom / pixel_px, {}};
        for (std::size_t k = 0; k < all.size(); ++k) {
            if (all[k].empty()) continue;
            outline.tiles.push_back({int(k % std::size_t(across)), int(k / std::size_t(across)), all[k].size()});
            points.push_back(std::move(all[k]));
        }
    }
};

RingSums sums_of(const Tiles& tiles, const FrcOptions& options) {
    std::vector<RingSums> sums(tiles.points.size());
    std::int64_t done = 0;
    std::mutex mutex;
    const auto total = std::int64_t(sums.size());
    in_own_arena([&] {
        tbb::enumerable_thread_specific<RingTransform> transforms([&] { return RingTransform(tiles.grid); });
        tbb::parallel_for(std::size_t{0}, sums.size(), [&](std::size_t k) {
            if (options.stop && *options.stop) return;
            sums[k] = transforms.local().sums(tiles.points[k]);
            const std::scoped_lock lock(mutex);
            if (options.progress) options.progress(++done, total, -1);
        });
    });
    if (options.stop && *options.stop) return {};
    RingSums all(std::size_t(tiles.grid.rings()), std::array<double, frc_products>{});
    for (const RingSums& some : sums)
        for (std::size_t k = 0; k < all.size(); ++k)
            for (std::size_t i = 0; i < frc_products; ++i) all[k][i] += some[k][i];
    return all;
}

void check(const FrcOptions& options) {
    if (options.block_frames < 1)
        throw OptionError(
            fmt::format("blocks of {} frames: give 1 or more, as in `block_frames=500`", options.block_frames));
    if (options.dark_frames < 0 || options.dark_frames > 1000)
        throw OptionError(fmt::format("{} dark frames within a blink: give 0 to 1000", options.dark_frames));
    for (double length : {options.link_radius_nm, options.finest_nm})
        if (!(length >= 0 && std::isfinite(length)))
            throw OptionError(fmt::format("a length of {} nm: give a positive length, or 0 for automatic", length));
}

}  // namespace

Frc frc_of(const FrameNeighbors& neighbors, double pixel_size_nm, double precision_nm, const FrcOptions& options) {
    Frc result;
    check(options);
    const bool known = precision_nm > 0;
    if (options.split == FrcSplit::blinks)
        result.link_radius_nm =
            options.link_radius_nm > 0 ? options.link_radius_nm : link_radius_in_nena * precision_nm;
    const bool has_units = options.split == FrcSplit::blocks || result.link_radius_nm > 0;
    if (neighbors.places().empty() || !has_units || !(known || options.finest_nm > 0)) return result;
    const std::vector<std::uint8_t> groups =
        groups_of(neighbors, options, result.link_radius_nm / pixel_size_nm, result.units);
    if (result.units < frc_groups) return result;
    for (double in_nena : finest_in_nena) {
        const double finest_nm = options.finest_nm > 0 ? options.finest_nm : in_nena * precision_nm;
        const Tiles tiles(neighbors, groups, finest_nm / 3 / pixel_size_nm);
        if (tiles.points.empty() && options.finest_nm > 0)
            throw OptionError(fmt::format(
                "a Fourier ring correlation down to {:g} nm needs too many tiles in a field of {:.4g} um: give a "
                "larger finest length, or remove far-off positions",
                finest_nm, std::sqrt(tiles.area_px2) * pixel_size_nm / 1000));
        if (tiles.points.empty()) return result;
        const RingSums sums = sums_of(tiles, options);
        if (sums.empty()) return result;  // stopped
        put_curves(result, sums, {ring_sizes(tiles.grid), power_of_outline(tiles.outline)},
                   1 / (tiles.grid.edge * tiles.pixel_px * pixel_size_nm));
        result.coarsest_nm = std::sqrt(std::numbers::pi * tiles.area_px2 / (2 * fewest_fourier_pixels)) * pixel_size_nm;
        if (options.finest_nm > 0 || result.resolution.nm > clear_of_end * finest_nm) break;
    }
    result.like_random = result.resolution.nm > share_of_random * result.random_nm;
    if (result.like_random || result.resolution.nm > result.coarsest_nm) result.resolution = {};
    return result;
}

Frc frc(const Localizations& localizations, const FrcOptions& options) {
    require_positions(localizations);
    require_whole_frames(localizations, "FRC");
    check(options);
    const FrameNeighbors neighbors(localizations);
    const Nena nena = nena_of(neighbors, neighbors.nearest(1, nena_radius_px), localizations, 1);
    return frc_of(neighbors, localizations.pixel_size_nm, precision_for_frc(neighbors, nena, localizations), options);
}

}  // namespace glint
