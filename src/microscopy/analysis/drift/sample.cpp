// Links blinks, removes beads, and places segments of the movie on one another. Measures the jitter that is new in each
// frame, from the steps within blinks. Finds the direction along which molecules show a drift least, as along parallel
// filaments.
// SPDX-License-Identifier: MIT
#include "analysis/drift/sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "analysis/drift/blinks.hpp"
#include "analysis/drift/coarse.hpp"
#include "analysis/drift/scores.hpp"

namespace glint::drift {
namespace {

/// A value, and 1 / its variance.
struct Measurement {
    double value = 0, information = 0;
};

/// Returns the variance of the jitter that is new in each frame: half the covariance of the steps of different blinks
/// between the same frames. These steps share the drift but no errors. The positions of the molecules do not matter.
Measurement white_of_steps(const Table& t, const Blinks& blinks, std::size_t a) {
    struct Steps {
        double sum = 0, weight = 0, sum_squares = 0, weight_squares = 0;
    };
    std::vector<Steps> of_frame(std::size_t(t.frames));
    for (std::size_t b = 0; b < blinks.size(); ++b)
        for (std::uint32_t k = blinks.begin[b] + 1; k < blinks.begin[b + 1]; ++k) {
            const std::uint32_t i = blinks.members[k], before = blinks.members[k - 1];
            if (t.frame[i] != t.frame[before] + 1) continue;
            const double step = double(t.nm[a][i]) - double(t.nm[a][before]);
            const double weight = 1 / (double(t.precision_nm[a][i]) * t.precision_nm[a][i] +
                                       double(t.precision_nm[a][before]) * t.precision_nm[a][before]);
            Steps& to = of_frame[std::size_t(t.frame[i])];
            to.sum += weight * step, to.sum_squares += weight * weight * step * step;
            to.weight += weight, to.weight_squares += weight * weight;
        }
    double products = 0, weights = 0;  // of pairs of blinks
    for (const Steps& s : of_frame) {
        products += 0.5 * (s.sum * s.sum - s.sum_squares);
        weights += 0.5 * (s.weight * s.weight - s.weight_squares);
    }
    return weights > 0 ? Measurement{0.5 * products / weights, 4 * weights} : Measurement{};
}

/// Returns the standard deviation of that jitter for each axis. An axis on which it is poorly known uses the mean of
/// all axes. 0 if the mean is poorly known, too.
std::array<double, 3> white_nm(const Table& t, const Blinks& blinks) {
    constexpr double good_error = 0.5, worst_error = 1;  // nm^2: maximum for an axis, and for the mean
    std::array<Measurement, 3> own;
    Measurement mean;
    for (std::size_t a = 0; a < std::size_t(t.axes); ++a) {
        own[a] = white_of_steps(t, blinks, a);
        mean.value += own[a].value * own[a].information, mean.information += own[a].information;
    }
    if (mean.information > 0) mean.value /= mean.information;
    const auto better_than = [](const Measurement& m, double error) { return m.information * error * error > 1; };
    std::array<double, 3> white{};
    for (std::size_t a = 0; a < std::size_t(t.axes); ++a) {
        const Measurement& by = better_than(own[a], good_error) ? own[a] : mean;
        if (better_than(by, worst_error)) white[a] = std::sqrt(std::max(0.0, by.value));
    }
    return white;
}

struct Direction {
    double angle = 0;          ///< of the axis with the most information on the drift, from x to y
    double min_over_most = 1;  ///< information across this axis, relative to that along it
};

Table half_of(const Table& t, bool second) {
    std::vector<char> keep(t.size());
    for (std::size_t row = 0; row < t.size(); ++row) keep[row] = second_half(t.nm[0][row], t.nm[1][row]) == second;
    return rows_of(t, keep);
}

Direction direction_of(const std::array<double, 3>& matrix_xy) {
    const auto [xx, xy, yy] = matrix_xy;
    const double mean = 0.5 * (xx + yy), half = std::hypot(0.5 * (xx - yy), xy);
    if (!(mean > 0)) return {};
    return {0.5 * std::atan2(2 * xy, xx - yy), (mean - half) / (mean + half)};
}

/// Returns positions along axes that are turned by `angle`, instead of x and y.
Table turned(Table t, double angle) {
    const double c = std::cos(angle), s = std::sin(angle);
    for (std::size_t row = 0; row < t.size(); ++row) {
        const double x = t.nm[0][row], y = t.nm[1][row];
        const double of_x = t.precision_nm[0][row], of_y = t.precision_nm[1][row];
        t.nm[0][row] = float(c * x + s * y), t.nm[1][row] = float(c * y - s * x);
        t.precision_nm[0][row] = float(std::hypot(c * of_x, s * of_y));
        t.precision_nm[1][row] = float(std::hypot(s * of_x, c * of_y));
    }
    return t;
}

void turn(FrameDrift& drift, double angle) {
    const double c = std::cos(angle), s = std::sin(angle);
    for (std::size_t f = 0; f < drift[0].size(); ++f) {
        const double x = drift[0][f], y = drift[1][f];
        drift[0][f] = c * x + s * y, drift[1][f] = c * y - s * x;
    }
}

constexpr double max_wrong_match_share = 0.05;  // probability that segments lie elsewhere, as along a line

/// Returns the RMS difference along y, in nm, between first estimates from two halves of the field. Negative if one
/// half gives no estimate. `stopped` is that of coarse_drift().
double halves_differ_along_y(const Table& t, const std::function<void()>& stopped) {
    std::array<Coarse, 2> half;
    for (const bool second : {false, true}) {
        const Table rows = half_of(t, second);
        half[second] = coarse_drift(rows, link(rows), stopped);
        if (!half[second].why.empty() || half[second].wrong_match > max_wrong_match_share) return -1;
    }
    double sum = 0, squares = 0;
    const std::vector<double>&by = half[0].drift[1], &other = half[1].drift[1];
    for (std::size_t f = 0; f < by.size(); ++f)
        sum += by[f] - other[f], squares += (by[f] - other[f]) * (by[f] - other[f]);
    const double n = double(by.size());
    return std::sqrt(std::max(0.0, squares / n - sum / n * (sum / n)));
}

constexpr std::size_t fewest_blinks = 300;

std::vector<Bead> beads_of(const Table& table, double pixel_size_nm, const DriftOptions& options) {
    if (options.beads == Beads::none) return {};
    if (options.beads == Beads::find) return find_beads(table);
    std::vector<std::array<double, 2>> places_nm;
    for (const auto& [x, y] : options.bead_places_px) places_nm.push_back({x * pixel_size_nm, y * pixel_size_nm});
    return beads_at(table, places_nm, options.warn);
}

/// Returns the number of pairs of blinks that are near each other with `drift` subtracted. Uses only a part of many
/// blinks.
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

/// Returns whether `drift` brings molecules together more than `other`, beyond chance.
bool brings_more_together(const Molecules& m, const FrameDrift& drift, const FrameDrift& other) {
    constexpr double sure = 5;
    const double by_one = close_pairs(m, drift), by_other = close_pairs(m, other);
    return by_one - by_other > sure * std::sqrt(by_one + by_other);
}

/// Turns the axes if necessary. Returns why a drift along the new y cannot be known; empty if it can.
std::string turn_axes(Sample& s, const std::function<void()>& stopped) {
    constexpr double look_at_nm = 25, min_even = 0.5, max_uneven_share = 0.2, max_difference_nm = 40;
    constexpr std::size_t look_at_blinks = 15000;
    const Points points = points_of(s.molecules.table, s.molecules.blinks, s.drift);
    const Direction direction =
        direction_of(pulls(s.molecules.blinks, points, s.axes(), look_at_nm, s.frames(), look_at_blinks).matrix_xy);
    if (direction.min_over_most > min_even) return {};
    s.angle = direction.angle;
    s.table = turned(std::move(s.table), s.angle);
    s.molecules.table = turned(std::move(s.molecules.table), s.angle);
    turn(s.drift, s.angle);
    s.tracks = tracks_of(s.table, s.beads, s.white_nm);
    judge(s.tracks, {}, s.axes());
    if (direction.min_over_most > max_uneven_share || s.beads_suffice()) return {};
    const double differ_nm = halves_differ_along_y(s.molecules.table, stopped);
    if (differ_nm >= 0 && differ_nm < max_difference_nm) return {};
    return fmt::format(
        "the molecules lie along lines at {:.0f} degrees from x to y and are not seen again, so they contain no "
        "information on a drift along these lines ({})",
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
