// Links blinks, takes beads out, and places segments of the movie on one another.
// SPDX-License-Identifier: MIT
#include "analysis/drift/sample.hpp"

#include <fmt/format.h>

#include <cmath>

#include "analysis/drift/coarse.hpp"
#include "analysis/drift/direction.hpp"
#include "analysis/drift/scores.hpp"
#include "analysis/drift/white.hpp"

namespace glint::drift {
namespace {

constexpr std::size_t fewest_blinks = 300;

std::vector<Bead> beads_of(const Table& table, double pixel_size_nm, const DriftOptions& options) {
    if (options.beads == Beads::none) return {};
    if (options.beads == Beads::find) return find_beads(table);
    std::vector<std::array<double, 2>> places_nm;
    for (const auto& [x, y] : options.bead_places_px) places_nm.push_back({x * pixel_size_nm, y * pixel_size_nm});
    return beads_at(table, places_nm);
}

/// Returns why a drift along y, once axes are turned, cannot be known; empty: it can.
std::string turn_axes(Sample& s, const std::function<void()>& stopped) {
    constexpr double look_at_nm = 25, least_even = 0.5, least_sure = 0.2, most_differ_nm = 40;
    constexpr std::size_t look_at_blinks = 15000;
    const Points points = points_of(s.molecules.table, s.molecules.blinks, s.drift);
    const Direction direction =
        direction_of(pulls(s.molecules.blinks, points, s.axes(), look_at_nm, s.frames(), look_at_blinks).matrix_xy);
    if (direction.least_over_most > least_even) return {};
    s.angle = direction.angle;
    s.table = turned(std::move(s.table), s.angle);
    s.molecules.table = turned(std::move(s.molecules.table), s.angle);
    turn(s.drift, s.angle);
    s.tracks = tracks_of(s.table, s.beads, s.white_nm);
    judge(s.tracks, {}, s.axes());
    if (direction.least_over_most > least_sure || s.beads_suffice()) return {};
    const double differ_nm = halves_differ_along_y(s.molecules.table, stopped);
    if (differ_nm >= 0 && differ_nm < most_differ_nm) return {};
    return fmt::format(
        "the molecules lie along lines at {:.0f} degrees from x to y and are not seen again, so that nothing tells of "
        "a drift along "
        "these lines ({})",
        std::fmod(s.angle * 57.29578 + 270, 180),
        differ_nm < 0 ? "in half of the field no shift stands out from chance"
                      : fmt::format("two halves of the field differ by {:.3g} nm", differ_nm));
}

}  // namespace

Sample sample_of(const Localizations& localizations, const DriftOptions& options) {
    Sample to;
    to.table = table_of(localizations);
    Blinks all = link(to.table);
    to.white_nm = white_nm(to.table, all);
    to.beads = beads_of(to.table, localizations.pixel_size_nm, options);
    to.tracks = tracks_of(to.table, to.beads, to.white_nm);
    judge(to.tracks, {}, to.axes());
    to.molecules = {to.table, std::move(all)};
    if (!to.beads.empty()) {
        to.molecules.table = without_beads(to.table, to.beads);
        to.molecules.blinks = link(to.molecules.table);
    }
    return to;
}

std::string find_start(Sample& s, Drift& to, const std::function<void()>& stopped) {
    const std::size_t blinks = s.molecules.blinks.size();
    std::string why;
    if (blinks < fewest_blinks)
        why = fmt::format("{} rows are {} blinks of molecules; a drift needs at least {}", s.molecules.table.size(),
                          blinks, fewest_blinks);
    if (s.beads_suffice()) {
        s.drift = drift_of_beads(s.tracks, s.axes());
    } else if (why.empty()) {
        Coarse coarse = coarse_drift(s.molecules.table, s.molecules.blinks, stopped);
        to.first_segment_frames = coarse.segment_frames;
        to.searched_nm = coarse.searched_nm;
        why = coarse.why;
        s.drift = std::move(coarse.drift);
    }
    return why.empty() ? turn_axes(s, stopped) : why;
}

}  // namespace glint::drift
