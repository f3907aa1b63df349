// Links blinks, takes beads out, and places segments of the movie on one another.
// SPDX-License-Identifier: MIT
#include "analysis/drift/sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

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
    return beads_at(table, places_nm, options.warn);
}

/// Pairs of blinks that are near each other once `drift` is taken out; of many blinks, of some.
double close_pairs(const Molecules& m, const FrameDrift& drift) {
    constexpr float near_nm = 25;
    constexpr std::size_t most = 100000;
    const Points points = points_of(m.table, m.blinks, drift);
    std::vector<std::array<float, 2>> places;
    for (std::size_t b = 0; b < points.size(); b += points.size() / most + 1)
        places.push_back({points.nm[0][b], points.nm[1][b]});
    std::sort(places.begin(), places.end());
    double pairs = 0;
    for (std::size_t a = 0; a < places.size(); ++a)
        for (std::size_t b = a + 1; b < places.size() && places[b][0] - places[a][0] < near_nm; ++b)
            pairs += std::hypot(places[b][0] - places[a][0], places[b][1] - places[a][1]) < near_nm;
    return pairs;
}

/// Whether molecules come together by `drift` more than by `other`, beyond chance.
bool brings_more_together(const Molecules& m, const FrameDrift& drift, const FrameDrift& other) {
    constexpr double sure = 5;
    const double by_one = close_pairs(m, drift), by_other = close_pairs(m, other);
    return by_one - by_other > sure * std::sqrt(by_one + by_other);
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
    if (to.beads.empty()) {
        const std::vector<char> none(to.table.size(), 0);
        to.molecules = {std::move(to.table), std::move(all)};
        to.table = rows_of(to.molecules.table, none);
    } else {
        to.molecules.table = without_beads(to.table, to.beads);
        to.molecules.blinks = link(to.molecules.table);
    }
    return to;
}

std::string find_start(Sample& s, Drift& to, const std::function<void()>& stopped) {
    const std::size_t blinks = s.molecules.blinks.size();
    std::string why;
    if (blinks < fewest_blinks)
        why =
            fmt::format("{} rows are {} blinks of molecules{}; a drift needs at least {}", s.molecules.table.size(),
                        blinks, s.beads.empty() ? "" : fmt::format(" beside {} beads", s.beads.size()), fewest_blinks);
    const bool beads_suffice = s.beads_suffice();
    if (beads_suffice) s.drift = drift_of_beads(s.tracks, s.axes());
    if (why.empty()) {
        Coarse coarse = coarse_drift(s.molecules.table, s.molecules.blinks, stopped);
        if (!beads_suffice) why = coarse.why;
        if (s.drift[0].empty())
            for (auto& axis : s.drift) axis.assign(std::size_t(s.frames()), 0);
        if (!beads_suffice) {
            to.first_segment_frames = coarse.segment_frames;
            to.wrong_match = coarse.wrong_match, to.wrong_match_nm = coarse.wrong_by_nm;
        }
        if (coarse.why.empty() && brings_more_together(s.molecules, coarse.drift, s.drift)) {
            to.first_segment_frames = coarse.segment_frames;
            to.searched_nm = coarse.searched_nm;
            to.wrong_match = coarse.wrong_match, to.wrong_match_nm = coarse.wrong_by_nm;
            s.drift = std::move(coarse.drift);
        }
    }
    return why.empty() ? turn_axes(s, stopped) : why;
}

}  // namespace glint::drift
