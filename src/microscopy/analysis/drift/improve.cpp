// One pass of the estimate: what molecules and beads show with the drift subtracted, a smooth motion through it, and
// its jumps.
// SPDX-License-Identifier: MIT
#include "analysis/drift/improve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <span>

#include "analysis/drift/cells.hpp"
#include "analysis/drift/motion.hpp"
#include "analysis/drift/scores.hpp"

namespace glint::drift {
namespace {

constexpr double max_share_of_one_place = 0.5;
constexpr int max_jumps = 20;
constexpr double fast_jitter = 10;          ///< times as long as errors last; a faster jitter may be such errors
constexpr double min_of_half = 6;           ///< minimum gain of a jump in each half of the field
constexpr Motion fast_motion{1e-4, 3, 20};  ///< a fast jitter, which a search from a slow one may miss

/// Limits the information of places (squares of 1 um) that have far more than the typical place, so that a bead that
/// moves by itself does not dominate. Returns the largest share of one place in the squares of all pulls.
double limit_places(const Points& points, std::vector<float>& information, const std::vector<float>& offset_nm) {
    constexpr double edge_nm = 1000, max_over_typical = 4;
    const Cells cells(points.nm[0], points.nm[1], edge_nm);
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
    const double most = max_over_typical * sorted[k];
    for (std::size_t b = 0; b < points.size(); ++b)
        if (const double here = place[cells.of(points.nm[0][b], points.nm[1][b])]; here > most)
            information[b] *= float(most / here);
    return *std::max_element(pull.begin(), pull.end()) / pulls;
}

/// Fits the motions to the observations, and computes the smooth drifts. The search starts at the previous motions and
/// at `others`.
void fit_smooth(MotionEstimate& e, std::size_t axes, std::initializer_list<Motion> others) {
    std::vector<AxisToFit> to_fit;
    for (std::size_t a = 0; a < axes; ++a) {
        to_fit.push_back({&e.seen[a].all, {e.motion[a]}});
        to_fit.back().starts.insert(to_fit.back().starts.end(), others);
    }
    const std::vector<Motion> motions = fit_motions(to_fit, e.jumps);
    for (std::size_t a = 0; a < axes; ++a) {
        e.motion[a] = motions[a];
        e.smooth[a] = smooth(e.seen[a].all, e.motion[a], 1, e.jumps);
    }
}

/// Returns by how much a jump must raise twice the log-likelihood to be more than chance.
double chance_of_jump(const MotionEstimate& e, int axes, double blinks) {
    return 2 * std::log(std::min(blinks, double(e.jumps.size()))) + 12 + 2 * (axes - 1);
}

/// Returns the minimum number of frames between jumps, and from a jump to the ends. With fewer frames, a few blinks
/// that lie elsewhere would seem to be a jump and a jump back.
std::size_t min_between_jumps(const MotionEstimate& e, double blinks) {
    constexpr double min_blinks = 10;
    return std::size_t(
        std::ceil(min_blinks * double(e.jumps.size()) / std::max(1.0, blinks) + 2 * e.seen[0].lasting_frames));
}

/// Adds jumps while each raises the likelihood by more than chance, with the motion fitted again.
void find_jumps(MotionEstimate& e, int axes, double blinks) {
    const double chance = chance_of_jump(e, axes, blinks);
    const std::size_t between = min_between_jumps(e, blinks), frames = e.jumps.size();
    std::vector<char> possible(frames, 0);
    for (std::size_t t = between; t + between <= frames; ++t) possible[t] = 1;
    while (std::count(e.jumps.begin(), e.jumps.end(), 1) < max_jumps) {
        std::size_t at = 0;
        double most = 0;
        for (std::size_t t = 1; t < e.jumps.size(); ++t) {
            double sum = 0;
            for (int a = 0; a < axes; ++a) sum += e.smooth[std::size_t(a)].jump_test[t];
            if (possible[t] && sum > most) most = sum, at = t;
        }
        if (most < chance / 2) return;
        MotionEstimate with = e;
        with.jumps[at] = 1;
        fit_smooth(with, std::size_t(axes), {});
        double gain = 0;
        for (std::size_t a = 0; a < std::size_t(axes); ++a)
            gain += 2 * (with.smooth[a].log_likelihood - e.smooth[a].log_likelihood);
        // A free shift costs likelihood: log(variance free / known) per axis.
        if (gain < chance - 6.0 * axes) return;
        e = std::move(with);
        for (std::size_t t = at < between ? 0 : at - between + 1; t < std::min(frames, at + between); ++t)
            possible[t] = 0;
    }
}

/// Computes what molecules show along each axis with `drift` subtracted. Details below the finest of `turn` are blurred
/// away. Returns why the result is unreliable; empty if it is reliable.
std::string see_molecules(const Molecules& m, const FrameDrift& drift, const Turn& turn, MotionEstimate& e) {
    std::array<SeenByHalves, 3>& to = e.seen;
    const auto axes = std::size_t(m.table.axes);
    const Points points = points_of(m.table, m.blinks, drift);
    Pulls pull = pulls(m.blinks, points, m.table.axes, turn.finest_nm, m.table.frames, turn.max_blinks);
    for (std::size_t a = 0; a < axes; ++a) {
        const double share = limit_places(points, pull.information[a], pull.offset_nm[a]);
        if (!(share > 0)) return "after the first, rough estimate, no molecule is seen again";
        if (share > max_share_of_one_place)
            return fmt::format(
                "{:.0f} % of the information on the drift comes from one place in the field, which may move by itself: "
                "other molecules must confirm it",
                100 * share);
        to[a] = seen_by_halves(m.table, m.blinks, points, pull, drift[a], a);
        set_errors(to[a], drift[a], double(m.table.size()) / double(m.blinks.size()));
        for (std::size_t side = 0; side < 2 && turn.last; ++side) {
            const SidesApart apart = sides_apart(m.table, m.blinks, points, pull, drift[a], a, side);
            if (a == 0 || apart.over_errors > e.sides[side].over_errors) e.sides[side] = apart;
        }
    }
    return {};
}

/// Returns by how much a jump raises twice the log-likelihood, without the cost of its freedom: for all observations,
/// and the smaller gain of the two halves.
std::array<double, 2> gain_of_jump(const MotionEstimate& e, std::size_t axes, std::size_t at) {
    std::vector<char> without = e.jumps;
    without[at] = 0;
    const double freedom = 6.0 * double(axes);
    std::array<double, 3> gain{freedom, freedom, freedom};
    for (std::size_t a = 0; a < axes; ++a) {
        const Seen* seen[] = {&e.seen[a].all, &e.seen[a].half[0], &e.seen[a].half[1]};
        for (std::size_t k = 0; k < gain.size(); ++k)
            gain[k] += 2 * (log_likelihood(*seen[k], e.supported[a].motion(), 1, e.jumps) -
                            log_likelihood(*seen[k], e.supported[a].motion(), 1, without));
    }
    const auto shows = [&](std::size_t half) {
        const std::vector<double>& information = e.seen[0].half[half].information;
        return std::any_of(information.begin(), information.end(), [](double i) { return i > 0; });
    };
    return {gain[0], shows(0) && shows(1) ? std::min(gain[1], gain[2]) : gain[0]};
}

/// Returns whether both halves of the field see what `richer` shows beyond `poorer`. Compares a sum over blocks of
/// frames with the root of the sum of their squares.
bool seen_by_both(const MotionEstimate& e, std::size_t axes, std::size_t poorer, std::size_t richer) {
    constexpr double sure = 3.5;
    const std::size_t frames = e.jumps.size();
    const std::size_t block = std::max<std::size_t>(4, std::size_t(2 * e.seen[0].lasting_frames)),
                      blocks = (frames + block - 1) / block;
    std::vector<double> products(blocks, 0);
    for (std::size_t a = 0; a < axes; ++a) {
        std::vector<double> rest[2], more[2];
        for (std::size_t h = 0; h < 2; ++h) {
            const Seen& half = e.seen[a].half[h];
            const std::vector<double> by = smooth(half, e.supported[a].ladder[poorer], 1, e.jumps).value;
            more[h] = smooth(half, e.supported[a].ladder[richer], 1, e.jumps).value;
            rest[h].resize(frames);
            for (std::size_t f = 0; f < frames; ++f)
                rest[h][f] = half.information[f] * (half.value[f] - by[f]), more[h][f] -= by[f];
        }
        for (std::size_t f = 0; f < frames; ++f)
            products[f / block] += rest[0][f] * more[1][f] + rest[1][f] * more[0][f];
    }
    double sum = 0, squares = 0;
    for (const double product : products) sum += product, squares += product * product;
    return sum > sure * std::sqrt(squares);
}

void smooth_supported(MotionEstimate& e, std::size_t axes) {
    for (std::size_t a = 0; a < axes; ++a) e.smooth[a] = smooth(e.seen[a].all, e.supported[a].motion(), 1, e.jumps);
}

/// Reduces the motion to what the observations support, then removes unsupported jumps.
void leave_out_unsupported(MotionEstimate& e, std::size_t axes, double blinks) {
    std::vector<AxisToFit> to_fit;
    for (std::size_t a = 0; a < axes; ++a) to_fit.push_back({&e.seen[a].all, {e.motion[a]}});
    const std::vector<Support> support = supported(to_fit, {e.motion.data(), axes}, e.jumps);
    std::copy(support.begin(), support.end(), e.supported.begin());
    const std::span<Support> chosen{e.supported.data(), axes};
    constexpr std::size_t with_jitter = motion_kinds - 1;
    const auto fast = [&](const Support& axis) {
        return axis.kind == with_jitter && axis.motion().forget_frames < fast_jitter * e.seen[0].lasting_frames;
    };
    if (choose_kinds(chosen, with_jitter) == with_jitter && std::ranges::any_of(chosen, fast) &&
        !seen_by_both(e, axes, with_jitter - 1, with_jitter))
        choose_kinds(chosen, with_jitter - 1);
    smooth_supported(e, axes);
    while (std::count(e.jumps.begin(), e.jumps.end(), 1)) {
        std::size_t weakest = 0;
        double least = 0;  // gain beyond the required one
        for (std::size_t t = 1; t < e.jumps.size(); ++t) {
            if (!e.jumps[t]) continue;
            const auto [all, half] = gain_of_jump(e, axes, t);
            const double over = std::min(all - chance_of_jump(e, int(axes), blinks), half - min_of_half);
            if (over < least) least = over, weakest = t;
        }
        if (weakest == 0) return;
        e.jumps[weakest] = 0;
        smooth_supported(e, axes);
    }
}

SeenByHalves nothing_seen(int frames) {
    const Seen nothing{std::vector<double>(std::size_t(frames), 0), std::vector<double>(std::size_t(frames), 0)};
    return {nothing, {nothing, nothing}};
}

}  // namespace

std::string improve(Sample& s, MotionEstimate& e, const Turn& turn, bool molecules_tell) {
    const auto axes = std::size_t(s.axes());
    e.jumps.assign(std::size_t(s.frames()), 0);  // each pass places jumps better than the one before
    std::string why = "no two beads move together, and no molecules confirm a bead";
    if (molecules_tell) why = see_molecules(s.molecules, s.drift, turn, e);
    if (!why.empty()) e.seen.fill(nothing_seen(s.frames()));
    judge(s.tracks, {e.seen[0].all, e.seen[1].all, e.seen[2].all}, s.axes());
    for (std::size_t a = 0; a < axes; ++a) add_beads(e.seen[a], s.tracks, s.drift[a], a);
    if (!why.empty() && used_beads(s.tracks) == 0) return why;
    for (std::size_t a = 0; a < axes; ++a) e.motion[a].white_nm = s.white_nm[a];
    if (turn.last)
        fit_smooth(e, axes, {fast_motion});
    else
        fit_smooth(e, axes, {});
    const double blinks = double(s.molecules.blinks.size()) + double(s.frames()) * used_beads(s.tracks);
    find_jumps(e, s.axes(), blinks);
    leave_out_unsupported(e, axes, blinks);
    for (std::size_t a = 0; a < axes; ++a) s.drift[a] = e.smooth[a].value;
    return {};
}

}  // namespace glint::drift
