// The drift of the sample during a movie, from its localizations alone (docs/theory.md, "Drift").
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>

#include "analysis/drift/bead_motion.hpp"
#include "analysis/drift/beads.hpp"
#include "analysis/drift/blinks.hpp"
#include "analysis/drift/cells.hpp"
#include "analysis/drift/coarse.hpp"
#include "analysis/drift/direction.hpp"
#include "analysis/drift/halves.hpp"
#include "analysis/drift/motion.hpp"
#include "analysis/drift/scores.hpp"
#include "analysis/drift/smoother.hpp"
#include "analysis/drift/white.hpp"
#include "base/arena.hpp"
#include "glint/drift.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

using namespace drift;

constexpr std::size_t fewest_blinks = 300;
constexpr double block_nm = 2000;  ///< edge of the squares that make the two halves of the field
constexpr int segment = 100;       ///< frames, of the stated errors
constexpr double most_of_one_place = 0.5;
constexpr int most_jumps = 20;
constexpr Motion fast_motion{1e-4, 3, 20};  ///< of a jitter that a likelihood which begins with a slow one may not find

/// Cuts the information of places (squares of 1 um) that have far more than most of it comes from: a bead that moves by
/// itself must not lead. Returns the greatest share of one place in the squares of all pulls.
double limit_places(const Points& points, std::vector<float>& information, const std::vector<float>& offset_nm) {
    constexpr double edge_nm = 1000, most_over_typical = 4;
    const drift::Cells cells(points.nm[0], points.nm[1], edge_nm);
    std::vector<double> place(cells.count(), 0), pull(cells.count(), 0);
    for (std::size_t b = 0; b < points.size(); ++b) {
        const std::size_t cell = cells.of(points.nm[0][b], points.nm[1][b]);
        const double slope = double(information[b]) * double(offset_nm[b]);
        place[cell] += double(information[b]);
        pull[cell] += slope * slope;
    }
    const double total = std::accumulate(place.begin(), place.end(), 0.0);
    const double pulls = std::accumulate(pull.begin(), pull.end(), 0.0);
    if (!(total > 0 && pulls > 0)) return 0;
    std::vector<double> sorted(place);
    std::sort(sorted.begin(), sorted.end());
    std::size_t k = 0;
    for (double below = sorted[0]; below < total / 2 && k + 1 < sorted.size(); below += sorted[k]) ++k;
    const double most = most_over_typical * sorted[k];
    for (std::size_t b = 0; b < points.size(); ++b)
        if (const double here = place[cells.of(points.nm[0][b], points.nm[1][b])]; here > most)
            information[b] *= float(most / here);
    return *std::max_element(pull.begin(), pull.end()) / pulls;
}

struct Estimate {
    std::array<SeenByHalves, 3> seen;
    std::array<Motion, 3> motion;
    std::array<Smooth, 3> smooth;
    std::vector<char> jumps;
};

/// Adds jumps while each makes the motion likelier by more than chance would, the motion fitted anew.
void find_jumps(Estimate& e, int axes, double blinks) {
    const double chance = 2 * std::log(std::min(blinks, double(e.jumps.size()))) + 7 + 2 * (axes - 1);
    while (std::count(e.jumps.begin(), e.jumps.end(), 1) < most_jumps) {
        std::size_t at = 0;
        double most = 0;
        for (std::size_t t = 1; t < e.jumps.size(); ++t) {
            double sum = 0;
            for (int a = 0; a < axes; ++a) sum += e.smooth[std::size_t(a)].jump_test[t];
            if (!e.jumps[t] && sum > most) most = sum, at = t;
        }
        if (most < chance / 2) return;
        Estimate with = e;
        with.jumps[at] = 1;
        double gain = 0;
        for (std::size_t a = 0; a < std::size_t(axes); ++a) {
            with.motion[a] = fit_motion(e.seen[a].all, with.jumps, std::span(&e.motion[a], 1));
            with.smooth[a] = smooth(e.seen[a].all, with.motion[a], 1, with.jumps);
            gain += 2 * (with.smooth[a].log_likelihood - e.smooth[a].log_likelihood);
        }
        // The freedom of the jump costs likelihood: log(variance free / known) an axis.
        if (gain < chance - 6.0 * axes) return;
        e = std::move(with);
    }
}

std::vector<double> segment_means(const std::vector<double>& of) {
    std::vector<double> means(std::max<std::size_t>(1, of.size() / segment), 0);
    for (std::size_t k = 0; k < means.size(); ++k) {
        const std::size_t end = std::min(of.size(), (k + 1) * segment);
        for (std::size_t f = k * segment; f < end; ++f) means[k] += of[f];
        means[k] /= double(end - k * segment);
    }
    return means;
}

double rms(const std::vector<double>& of) {
    double sum = 0;
    for (const double v : of) sum += v * v;
    return of.empty() ? 0 : std::sqrt(sum / double(of.size()));
}

void remove_mean(std::vector<double>& of) {
    const double mean = std::accumulate(of.begin(), of.end(), 0.0) / double(std::max<std::size_t>(1, of.size()));
    for (double& v : of) v -= mean;
}

/// The error of a segment's mean: of the smoother for means of `segment` frames.
double segment_error(const Seen& seen, const Motion& motion, const std::vector<char>& jumps) {
    Seen means;
    std::vector<char> at;
    for (std::size_t begin = 0; begin + segment <= seen.value.size(); begin += segment) {
        double value = 0, information = 0;
        char jump = 0;
        for (std::size_t f = begin; f < begin + segment; ++f) {
            value += seen.value[f] * seen.information[f], information += seen.information[f];
            jump = char(jump | jumps[f]);
        }
        means.value.push_back(information > 0 ? value / information : 0);
        means.information.push_back(information);
        at.push_back(jump);
    }
    if (means.value.empty()) return 0;
    const Smooth s = smooth(means, motion, segment, at);
    double sum = 0;
    for (const double v : s.variance) sum += v;
    return std::sqrt(sum / double(s.variance.size()));
}

AxisDrift& axis(Drift& drift, std::size_t a) { return a == 0 ? drift.x : a == 1 ? drift.y : drift.z; }

Drift refuse(Drift drift, int frames, int axes, std::string why) {
    drift.refused = true;
    drift.why = std::move(why);
    for (std::size_t a = 0; a < std::size_t(axes); ++a)
        axis(drift, a) = {std::vector<double>(std::size_t(frames), 0), {}};
    return drift;
}

struct Molecules {
    Table table;
    Blinks blinks;
};

/// What molecules show, of each axis, once `drift` is taken out, with details below `finest_nm` blurred away. Returns why that is nothing to rely on; empty: it is.
std::string see_molecules(const Molecules& m, const FrameDrift& drift, double finest_nm, std::size_t most_blinks,
                          std::array<SeenByHalves, 3>& to) {
    const auto axes = std::size_t(m.table.axes);
    const Points points = points_of(m.table, m.blinks, drift);
    Pulls pull = pulls(m.blinks, points, m.table.axes, finest_nm, m.table.frames, most_blinks);
    for (std::size_t a = 0; a < axes; ++a) {
        const double share = limit_places(points, pull.information[a], pull.offset_nm[a]);
        if (!(share > 0)) return "no molecule is seen again after the first, rough estimate";
        if (share > most_of_one_place)
            return fmt::format(
                "{:.0f} % of what tells of a drift comes from one place in the field, which may move by itself: other "
                "molecules must confirm it",
                100 * share);
        to[a] = seen_by_halves(m.table, m.blinks, points, pull, drift[a], a);
        const double excess = excess_of_halves(to[a], std::max(1, m.table.frames / 400));
        scale_information(to[a], 1 / std::max(excess, 0.25));
    }
    return {};
}

SeenByHalves nothing_seen(int frames) {
    const Seen nothing{std::vector<double>(std::size_t(frames), 0), std::vector<double>(std::size_t(frames), 0)};
    return {nothing, {nothing, nothing}};
}

std::vector<Bead> beads_of(const Table& table, double pixel_size_nm, const DriftOptions& options) {
    if (options.beads == Beads::none) return {};
    if (options.beads == Beads::find) return find_beads(table);
    std::vector<std::array<double, 2>> places_nm;
    for (const auto& [x, y] : options.bead_places_px) places_nm.push_back({x * pixel_size_nm, y * pixel_size_nm});
    return beads_at(table, places_nm);
}

std::vector<DriftBead> beads_told(const std::vector<BeadTrack>& tracks, double pixel_size_nm) {
    std::vector<DriftBead> beads;
    for (const BeadTrack& track : tracks)
        beads.push_back(
            {track.place_nm[0] / pixel_size_nm, track.place_nm[1] / pixel_size_nm, track.own_nm, track.used});
    return beads;
}

/// What is known of a table before its drift: beads, molecules, and the drift, roughly.
struct Sample {
    Table table;
    std::vector<Bead> beads;
    std::vector<BeadTrack> tracks;
    Molecules molecules;  ///< without the beads
    std::array<double, 3> white_nm{};
    FrameDrift drift;
    double angle = 0;  ///< by which the axes of all these are turned

    int axes() const { return table.axes; }
    int frames() const { return table.frames; }
    bool beads_suffice() const { return used_beads(tracks) > 1; }
};

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

/// Where molecules tell less in one direction than in others, axes are turned so that y is this one. Returns why a drift along it cannot be known; empty: it can.
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

/// The first, rough drift. Returns why the molecules do not tell of it; empty: they do.
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

struct Turn {
    double finest_nm;  ///< details below are blurred away
    std::size_t most_blinks;
    bool last = false;
};

/// One turn: the drift as known so far is taken out, and what is left is seen. Returns why nothing is; empty: it is.
std::string improve(Sample& s, Estimate& e, const Turn& turn, bool molecules_tell) {
    const auto axes = std::size_t(s.axes());
    e.jumps.assign(std::size_t(s.frames()), 0);  // each turn places them better than the one before
    std::string why = "the beads do not move together, and no molecules confirm one";
    if (molecules_tell) why = see_molecules(s.molecules, s.drift, turn.finest_nm, turn.most_blinks, e.seen);
    if (!why.empty()) e.seen.fill(nothing_seen(s.frames()));
    judge(s.tracks, {e.seen[0].all, e.seen[1].all, e.seen[2].all}, s.axes());
    for (std::size_t a = 0; a < axes; ++a) add_beads(e.seen[a], s.tracks, s.drift[a], a);
    if (!why.empty() && used_beads(s.tracks) == 0) return why;
    for (std::size_t a = 0; a < axes; ++a) {
        e.motion[a].white_nm = s.white_nm[a];
        const std::array<Motion, 2> starts{e.motion[a], fast_motion};
        e.motion[a] = fit_motion(e.seen[a].all, e.jumps, std::span(starts).first(turn.last ? 2 : 1));
        e.smooth[a] = smooth(e.seen[a].all, e.motion[a], 1, e.jumps);
    }
    find_jumps(e, s.axes(), double(s.molecules.blinks.size()) + double(s.frames()) * used_beads(s.tracks));
    for (std::size_t a = 0; a < axes; ++a) s.drift[a] = e.smooth[a].value;
    return {};
}

/// What is stated, along turned axes. Returns why it is not to be trusted; empty: it is.
std::string state(const Estimate& e, Sample& s, Drift& to) {
    constexpr double most_over_error = 5;
    std::string why;
    for (std::size_t a = 0; a < std::size_t(s.axes()); ++a) {
        remove_mean(s.drift[a]);
        AxisDrift& mine = axis(to, a);
        mine.nm = s.drift[a];
        mine.error_nm.resize(mine.nm.size());
        for (std::size_t f = 0; f < mine.nm.size(); ++f) mine.error_nm[f] = std::sqrt(e.smooth[a].variance[f]);
        const auto& [all, half] = e.seen[a];
        to.error_100_nm[a] = segment_error(all, e.motion[a], e.jumps);
        double expected =
            std::hypot(segment_error(half[0], e.motion[a], e.jumps), segment_error(half[1], e.motion[a], e.jumps));
        std::vector<double> by = smooth(half[0], e.motion[a], 1, e.jumps).value;
        const std::vector<double> other = smooth(half[1], e.motion[a], 1, e.jumps).value;
        for (std::size_t f = 0; f < by.size(); ++f) by[f] -= other[f];
        remove_mean(by);
        to.halves_differ_nm[a] = rms(segment_means(by));
        if (by.size() < 2 * segment) {  // too few of 100 frames to differ: those of a frame are an upper limit
            to.error_100_nm[a] = rms(mine.error_nm), to.halves_differ_nm[a] = rms(by);
            expected = 2 * to.error_100_nm[a];
        }
        if (to.halves_differ_nm[a] > most_over_error * expected)
            why = fmt::format(
                "the molecules of two halves of the field tell drifts that differ by {:.3g} nm, where {:.3g} nm "
                "are expected: they do not move together, or lie along one line",
                to.halves_differ_nm[a], expected);
    }
    for (std::size_t t = 1; t < e.jumps.size(); ++t)
        if (e.jumps[t]) {
            DriftJump& jump = to.jumps.emplace_back();
            jump.frame = std::int64_t(t);
            for (std::size_t a = 0; a < std::size_t(s.axes()); ++a) jump.by_nm[a] = s.drift[a][t] - s.drift[a][t - 1];
        }
    return why;
}

/// From axes that are turned by `angle` to x and y.
void turn_back(Drift& drift, double angle) {
    if (angle == 0) return;
    const double c = std::cos(angle), s = std::sin(angle);
    const auto vector = [&](double& x, double& y) {
        const double along = x, across = y;
        x = c * along - s * across, y = s * along + c * across;
    };
    const auto errors = [&](double& x, double& y) {
        const double along = x, across = y;
        x = std::hypot(c * along, s * across), y = std::hypot(s * along, c * across);
    };
    for (std::size_t f = 0; f < drift.x.nm.size(); ++f) {
        vector(drift.x.nm[f], drift.y.nm[f]);
        if (!drift.x.error_nm.empty()) errors(drift.x.error_nm[f], drift.y.error_nm[f]);
    }
    for (DriftJump& jump : drift.jumps) vector(jump.by_nm[0], jump.by_nm[1]);
    for (DriftBead& bead : drift.beads) vector(bead.x_px, bead.y_px), errors(bead.own_nm[0], bead.own_nm[1]);
    errors(drift.error_100_nm[0], drift.error_100_nm[1]);
    errors(drift.halves_differ_nm[0], drift.halves_differ_nm[1]);
}

Drift estimated(const Localizations& localizations, const DriftOptions& options) {
    constexpr int steps = 7;
    int done = 0;
    const std::function<void()> stopped = [&] {
        if (options.stop && *options.stop) throw Cancelled("stopped");
    };
    const auto step_done = [&] {
        stopped();
        if (options.progress) options.progress(++done, steps, -1);
    };
    Sample sample = sample_of(localizations, options);
    Drift to;
    to.blinks = std::int64_t(sample.molecules.blinks.size());
    const auto refused = [&](const std::string& why) {
        to.beads = beads_told(sample.tracks, localizations.pixel_size_nm);
        turn_back(to, sample.angle);
        return refuse(to, sample.frames(), sample.axes(), why);
    };
    step_done();
    std::string why = find_start(sample, to, stopped);
    if (!why.empty() && !sample.beads_suffice()) return refused(why);
    step_done();
    Estimate e;
    constexpr auto all = ~std::size_t(0) / 2;
    const bool molecules_tell = why.empty();
    for (const Turn& turn : {Turn{25, 30000}, Turn{8, 60000}, Turn{2, all}, Turn{0.5, all, true}}) {
        if (why = improve(sample, e, turn, molecules_tell); !why.empty()) return refused(why);
        step_done();
    }
    if (why = state(e, sample, to); !why.empty()) return refused(why);
    to.beads = beads_told(sample.tracks, localizations.pixel_size_nm);
    turn_back(to, sample.angle);
    step_done();
    return to;
}

}  // namespace

Drift estimate_drift(const Localizations& localizations, const DriftOptions& options) {
    Drift to;
    in_own_arena([&] { to = estimated(localizations, options); });
    return to;
}

}  // namespace glint
