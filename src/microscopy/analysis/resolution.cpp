// Computes precision and resolution, maps them, and checks their premises (theory.md, section 14).
// SPDX-License-Identifier: MIT
#include "glint/resolution.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/fourier.hpp"
#include "analysis/frame_neighbors.hpp"
#include "analysis/frc.hpp"
#include "analysis/nena.hpp"
#include "analysis/require_table.hpp"
#include "analysis/same_place.hpp"
#include "base/arena.hpp"

namespace glint {
namespace {

constexpr int later_lags[] = {2, 3};
constexpr double max_map_tiles = 4e6;
constexpr double worth_telling = 0.1;  // relative
constexpr std::size_t few_blinks = 10 * frc_groups;

/// Returns whether b exceeds a by more than a tenth and by more than chance explains.
bool grows(const Measured& a, const Measured& b) {
    return b.nm - a.nm > std::max(worth_telling * a.nm, 3 * std::hypot(a.error_nm, b.error_nm));
}

/// Tiles of the sensor, row by row. If these are too many, covers only the part with localizations.
struct MapTiles {
    int width = 1, height = 1;
    double edge_px;
    double left = 0, top = 0;  ///< position of the first tile, in tiles

    MapTiles(const Localizations& table, const FrameNeighbors& neighbors, double edge_nm)
        : edge_px(edge_nm / table.pixel_size_nm) {
        double right = table.width, bottom = table.height;
        if (right <= 0 || bottom <= 0)
            for (const auto& p : neighbors.places())
                right = std::max(right, p.x_px + 0.5), bottom = std::max(bottom, p.y_px + 0.5);
        double across = std::max(std::ceil(right / edge_px - 1e-9), 1.0),
               down = std::max(std::ceil(bottom / edge_px - 1e-9), 1.0);
        if (!(across * down <= max_map_tiles) && !neighbors.places().empty()) {
            constexpr double far = std::numeric_limits<double>::infinity();
            double first_column = far, last_column = -far, first_row = far, last_row = -far;
            for (const auto& p : neighbors.places()) {
                const double column = std::floor((p.x_px + 0.5) / edge_px), row = std::floor((p.y_px + 0.5) / edge_px);
                first_column = std::min(first_column, column), last_column = std::max(last_column, column);
                first_row = std::min(first_row, row), last_row = std::max(last_row, row);
            }
            left = first_column, top = first_row;
            across = last_column - first_column + 1, down = last_row - first_row + 1;
        }
        if (!(across * down <= max_map_tiles))
            throw OptionError(fmt::format(
                "a map of {:g} x {:g} tiles of {:g} nm exceeds {:g} tiles: filter far-off localizations away, or give "
                "larger tiles, as in `tile={:.0f}um`",
                across, down, edge_nm, max_map_tiles,
                std::ceil(1.01 * edge_nm / 1000 * std::sqrt(across * down / max_map_tiles))));
        width = int(across), height = int(down);
    }
    std::size_t of(const FrameNeighbors::FramePosition& p) const {
        const double column = std::clamp((p.x_px + 0.5) / edge_px - left, 0.0, width - 1.0);
        const double row = std::clamp((p.y_px + 0.5) / edge_px - top, 0.0, height - 1.0);
        return std::size_t(row) * std::size_t(width) + std::size_t(column);
    }
    std::size_t count() const { return std::size_t(width) * std::size_t(height); }
};

void put_maps(Resolution& to, const Localizations& table, const FrameNeighbors& neighbors,
              const std::vector<FramePair>& pairs, double tile_nm) {
    const MapTiles tiles(table, neighbors, tile_nm);
    const auto picture = [&](float value) {
        return Picture{tiles.width, tiles.height, tile_nm, std::vector<float>(tiles.count(), value)};
    };
    to.map_x_nm = tiles.left * tile_nm, to.map_y_nm = tiles.top * tile_nm;
    to.density_per_um2 = picture(0), to.precision_nm = to.precision_error_nm = picture(std::nanf(""));
    for (const auto& place : neighbors.places())
        to.density_per_um2.values[tiles.of(place)] += float(1e6 / (tile_nm * tile_nm));
    std::vector<std::vector<FramePair>> by_tile(tiles.count());
    for (const FramePair& pair : pairs) by_tile[tiles.of(neighbors.places()[pair.first])].push_back(pair);
    in_own_arena([&] {
        tbb::parallel_for(std::size_t{0}, tiles.count(), [&](std::size_t k) {
            const Nena nena = fit_nena_of_part(distances_nm(by_tile[k], table.pixel_size_nm), to.nena.shape);
            to.precision_nm.values[k] = float(nena.precision.nm),
            to.precision_error_nm.values[k] = float(nena.precision.error_nm);
        });
    });
}

void add_caveats_of_nena(Resolution& to) {
    const Nena& nena = to.nena;
    for (const Nena& later : to.later)
        if (grows(nena.precision, later.precision)) {
            to.caveats.push_back(fmt::format(
                "NeNA grows from {:.1f} nm between consecutive frames to {:.1f} nm over {} frames: molecules move "
                "while they emit light, or are so dense that neighbours are mistaken for one molecule",
                nena.precision.nm, later.precision.nm, later.lag));
            break;
        }
    if (nena.same_molecule < 0.5)
        to.caveats.push_back(fmt::format(
            "only {:.0f} % of NeNA's pairs are the same molecule twice, so the result depends on the correction terms "
            "of its fit",
            100 * nena.same_molecule));
    if (nena.contradicts_stated())
        to.caveats.push_back(
            fmt::format("rows with a neighbour in the next frame state a precision of {:.1f} nm (lpx, lpy), but NeNA "
                        "finds {:.1f} nm: camera, PSF or motion differ from what the fit assumed",
                        nena.stated_nm, nena.precision.nm));
}

void add_caveats_of_frc(Resolution& to) {
    const Frc& frc = to.frc;
    if (frc.units == 0) return;
    if (frc.units < frc_groups)
        to.caveats.push_back(
            fmt::format("there are {} blinks or blocks of frames, but a Fourier ring correlation needs at least {}",
                        frc.units, frc_groups));
    else if (frc.correlation.empty())
        to.caveats.push_back(
            "positions repeat too finely for a Fourier ring correlation in a field of this size: are rows copies of "
            "other rows, simulated without noise, or damaged and far off?");
    else if (frc.like_random)
        to.caveats.push_back(
            fmt::format("the Fourier ring correlation gives no resolution: as many random points in this field "
                        "correlate down to {:.3g} nm by the outline of the field alone, and the localizations do not "
                        "correlate down to half of that. Either they have no structure, or they are too few to show it",
                        frc.random_nm));
    else if (std::isnan(frc.resolution.nm) && !(frc.coarsest_nm > 0))
        to.caveats.push_back(
            "the Fourier ring correlation gives no resolution, because all positions are the same: check the columns "
            "of x and y");
    else if (std::isnan(frc.resolution.nm))
        to.caveats.push_back(fmt::format(
            "the Fourier ring correlation gives no resolution: the curve of at least one random split into halves does "
            "not fall to 1/7, or the resolution would be coarser than {} nm, where a field of this size cannot "
            "distinguish 1/7 from chance. More localizations may help",
            std::llround(frc.coarsest_nm)));
    else if (frc.link_radius_nm > 0 && frc.units < few_blinks)
        to.caveats.push_back(
            fmt::format("the Fourier ring correlation divides {} blinks, less than {}: the result depends on how they "
                        "fall into halves",
                        frc.units, few_blinks));
}

void add_caveats(Resolution& to, const FrameNeighbors& neighbors, const Localizations& table,
                 const SamePlace& repeats) {
    const Nena& nena = to.nena;
    const auto& places = neighbors.places();
    if (const std::string linked = linked_caveat(table); !linked.empty())
        to.caveats.push_back(linked);
    else if (!places.empty() && places.front().frame == places.back().frame)
        to.caveats.push_back("all rows are of one frame, but NeNA compares molecules with themselves in the next one");
    else if (has_few_pairs(neighbors, nena))
        to.caveats.push_back(
            fmt::format("only {} localizations have a neighbour in the next frame, so NeNA is not reliable: were "
                        "blinks linked to one row each? Give the table from before linking",
                        nena.pairs));
    else if (std::isnan(nena.precision.nm))
        to.caveats.push_back(
            fmt::format("there are {} pairs of neighbours in consecutive frames, but NeNA needs 100", nena.pairs));
    else
        add_caveats_of_nena(to);
    if (repeats.falls())
        to.caveats.push_back(fmt::format(
            "molecules that shine again lie within {:.0f} nm of their place {:.2f} times as often after {} frames as "
            "after {}: there is drift, and the image is less sharp than NeNA suggests. Correct it with glint drift",
            repeats.radius_nm, repeats.ratio, repeats.later_frames, repeats.sooner_frames));
    add_caveats_of_frc(to);
}

/// Warns if the steps of stored positions are coarse. Tables store single precision, whose steps grow with the distance
/// from 0.
void add_caveat_of_offset(Resolution& to, const FrameNeighbors& neighbors, double pixel_size_nm, double precision_nm) {
    constexpr double of_any_microscope_nm = 0.05;  // no microscope is more precise
    const double step_nm = step_of_positions_nm(neighbors, pixel_size_nm);
    if (step_nm > std::max(worth_telling * precision_nm, of_any_microscope_nm))
        to.caveats.push_back(fmt::format(
            "positions lie so far from the first pixel that tables store them in steps of {:.2g} nm: subtract a common "
            "offset from x and y before writing the table",
            step_nm));
}

void add_caveat_of_far_rows(Resolution& to, const FrameNeighbors& neighbors) {
    const Field field(neighbors);
    std::size_t far = 0;
    FrameNeighbors::FramePosition first{};
    for (const auto& p : neighbors.places())
        if (!field.holds(p) && (far++ == 0 || p.row < first.row)) first = p;
    if (far == 0) return;
    to.caveats.push_back(fmt::format(
        "{} of {} rows lie far from all others, such as row {} at x {:.4g}, y {:.4g} px. The Fourier ring correlation "
        "leaves them out; `filter_where={:.0f} < x < {:.0f} and {:.0f} < y < {:.0f}` removes them",
        far, neighbors.places().size(), first.row + 1, first.x_px, first.y_px, field.left_px, field.right_px,
        field.top_px, field.bottom_px));
}

}  // namespace

bool Nena::contradicts_stated() const {
    return stated_nm > 0 &&
           std::abs(precision.nm - stated_nm) > std::max(worth_telling * stated_nm, 3 * precision.error_nm);
}

Resolution resolution(const Localizations& localizations, const ResolutionOptions& options) {
    require_positions(localizations);
    require_whole_frames(localizations, "the resolution");
    if (!(options.tile_nm > 0 && std::isfinite(options.tile_nm)))
        throw OptionError(fmt::format("tiles of {} nm: give a length, as in `tile=5um`", options.tile_nm));
    Resolution result;
    const auto stopped = [&] { return options.stop && *options.stop; };
    const FrameNeighbors neighbors(localizations);
    const std::vector<FramePair> pairs = neighbors.nearest(1, nena_radius_px);
    result.nena = nena_of(neighbors, pairs, localizations, 1);
    for (int lag : later_lags) {
        if (stopped()) return result;
        Nena later = nena_of(neighbors, neighbors.nearest(std::uint32_t(lag), nena_radius_px), localizations, lag);
        later.distance_nm.clear(), later.counts.clear(), later.fit.clear();
        result.later.push_back(std::move(later));
    }
    put_maps(result, localizations, neighbors, pairs, options.tile_nm);
    FrcOptions of_frc = options.frc;
    of_frc.stop = options.stop, of_frc.progress = options.progress;
    const double precision_nm = precision_for_frc(neighbors, result.nena, localizations);
    if (stopped()) return result;
    result.frc = frc_of(neighbors, localizations.pixel_size_nm, precision_nm, of_frc);
    if (stopped()) return result;
    add_caveat_of_far_rows(result, neighbors);
    add_caveat_of_offset(result, neighbors, localizations.pixel_size_nm, precision_nm);
    add_caveats(result, neighbors, localizations, SamePlace(neighbors, localizations.pixel_size_nm, precision_nm));
    return result;
}

}  // namespace glint
