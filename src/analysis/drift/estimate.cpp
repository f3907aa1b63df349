// The drift of the sample during a movie, from its localizations alone (docs/theory.md, "Drift").
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/drift/blinks.hpp"
#include "analysis/drift/cells.hpp"
#include "analysis/drift/coarse.hpp"
#include "analysis/drift/scores.hpp"
#include "analysis/drift/smoother.hpp"
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

/// What is seen a frame, of one axis: drift that is left; by both halves of the field together and by each.
struct SeenByHalves {
    Seen all, half[2];
};

bool second_half(float x, float y) { return (int(std::floor(x / block_nm)) + int(std::floor(y / block_nm))) & 1; }

SeenByHalves seen_by_halves(const Table& t, const Blinks& blinks, const Points& points, const Pulls& pulls,
                            const std::vector<double>& drift, std::size_t a) {
    const auto frames = std::size_t(t.frames);
    SeenByHalves to;
    Seen* parts[] = {&to.half[0], &to.half[1]};
    for (Seen* s : parts) s->value.assign(frames, 0), s->information.assign(frames, 0);
    for (std::size_t b = 0; b < blinks.size(); ++b) {
        const double information = pulls.information[a][b];
        if (!(information > 0)) continue;
        Seen& s = *parts[second_half(points.nm[0][b], points.nm[1][b])];
        // More than its own precision no blink is worth; a rescale below puts all errors right.
        const double total = std::min(information, 1.0 / double(points.variance[a][b]));
        for (std::uint32_t k = blinks.begin[b]; k < blinks.begin[b + 1]; ++k) {
            const std::uint32_t i = blinks.members[k];
            const auto f = std::size_t(t.frame[i]);
            const double weight =
                total * double(points.variance[a][b]) / (double(t.precision_nm[a][i]) * t.precision_nm[a][i]);
            const double within = t.nm[a][i] - drift[f] - points.nm[a][b];
            s.value[f] += weight * (within + pulls.offset_nm[a][b] + drift[f]);
            s.information[f] += weight;
        }
    }
    to.all = to.half[0];
    for (std::size_t f = 0; f < frames; ++f) {
        to.all.value[f] += to.half[1].value[f];
        to.all.information[f] += to.half[1].information[f];
    }
    for (Seen* s : {&to.all, parts[0], parts[1]})
        for (std::size_t f = 0; f < frames; ++f)
            if (s->information[f] > 0) s->value[f] /= s->information[f];
    return to;
}

/// Mean square difference of the halves over what their information says; 1 where that is right.
double excess_of_halves(const SeenByHalves& seen, int width) {
    double sum = 0, count = 0;
    const std::size_t n = seen.all.value.size();
    for (std::size_t begin = 0; begin < n; begin += std::size_t(width)) {
        double value[2] = {}, information[2] = {};
        for (std::size_t f = begin; f < std::min(n, begin + std::size_t(width)); ++f)
            for (int h = 0; h < 2; ++h) {
                value[h] += seen.half[h].value[f] * seen.half[h].information[f];
                information[h] += seen.half[h].information[f];
            }
        if (!(information[0] > 0 && information[1] > 0)) continue;
        const double by = value[0] / information[0] - value[1] / information[1];
        sum += by * by / (1 / information[0] + 1 / information[1]);
        ++count;
    }
    return count > 10 ? sum / count : 1;
}

void scale_information(SeenByHalves& seen, double by) {
    for (Seen* s : {&seen.all, &seen.half[0], &seen.half[1]})
        for (double& information : s->information) information *= by;
}

/// A number, and 1 / variance of it.
struct Measurement {
    double value = 0, information = 0;
};

/// Variance of the jitter that is new in each frame: half the covariance of the steps of different blinks between the same
/// frames, which share the drift and none of the errors; where a molecule is does not matter.
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

/// The new jitter's standard deviation an axis. An axis that does not tell it well takes the mean of all.
std::array<double, 3> white_nm(const Table& t, const Blinks& blinks) {
    constexpr double good_error = 0.5, worst_error = 1;  // nm^2: less is known of it than would be of use
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
            with.motion[a] = fit_motion(e.seen[a].all, with.jumps, e.motion[a]);
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

Drift estimated(const Localizations& localizations, const DriftOptions& options) {
    constexpr int steps = 7;
    int done = 0;
    const auto stopped = [&] {
        if (options.stop && *options.stop) throw Cancelled("stopped");
    };
    const auto step_done = [&] {
        stopped();
        if (options.progress) options.progress(++done, steps, -1);
    };
    const Table table = table_of(localizations);
    const int axes = table.axes;
    Drift to;
    const Blinks blinks = link(table);
    to.blinks = std::int64_t(blinks.size());
    if (blinks.size() < fewest_blinks)
        return refuse(to, table.frames, axes,
                      fmt::format("{} rows are {} blinks of molecules; a drift needs at least {}", table.size(),
                                  blinks.size(), fewest_blinks));
    step_done();
    const Coarse coarse = coarse_drift(table, blinks, stopped);
    to.first_segment_frames = coarse.segment_frames;
    to.searched_nm = coarse.searched_nm;
    if (!coarse.why.empty()) return refuse(to, table.frames, axes, coarse.why);
    step_done();
    FrameDrift drift = coarse.drift;
    Estimate e;
    const std::array<double, 3> white = white_nm(table, blinks);
    struct Turn {
        double finest_nm;
        std::size_t most_blinks;
    };
    constexpr auto all = ~std::size_t(0) / 2;
    for (const auto [finest, most] : {Turn{25.0, 30000}, Turn{8.0, 60000}, Turn{2.0, all}, Turn{0.5, all}}) {
        e.jumps.assign(std::size_t(table.frames), 0);  // each turn places them better than the one before
        const Points points = points_of(table, blinks, drift);
        Pulls pull = pulls(blinks, points, axes, finest, table.frames, most);
        for (std::size_t a = 0; a < std::size_t(axes); ++a) {
            const double share = limit_places(points, pull.information[a], pull.offset_nm[a]);
            if (!(share > 0))
                return refuse(to, table.frames, axes, "no molecule is seen again after the first, rough estimate");
            if (share > most_of_one_place)
                return refuse(
                    to, table.frames, axes,
                    fmt::format("{:.0f} % of what tells of a drift comes from one place in the field, which may "
                                "move by itself: other molecules must confirm it",
                                100 * share));
            e.seen[a] = seen_by_halves(table, blinks, points, pull, drift[a], a);
            const double excess = excess_of_halves(e.seen[a], std::max(1, table.frames / 400));
            scale_information(e.seen[a], 1 / std::max(excess, 0.25));
            e.motion[a].white_nm = white[a];
            e.motion[a] = fit_motion(e.seen[a].all, e.jumps, e.motion[a]);
            e.smooth[a] = smooth(e.seen[a].all, e.motion[a], 1, e.jumps);
        }
        find_jumps(e, axes, double(blinks.size()));
        for (std::size_t a = 0; a < std::size_t(axes); ++a) drift[a] = e.smooth[a].value;
        step_done();
    }
    for (std::size_t a = 0; a < std::size_t(axes); ++a) {
        remove_mean(drift[a]);
        AxisDrift& mine = axis(to, a);
        mine.nm = drift[a];
        mine.error_nm.resize(drift[a].size());
        for (std::size_t f = 0; f < drift[a].size(); ++f) mine.error_nm[f] = std::sqrt(e.smooth[a].variance[f]);
        to.error_100_nm[a] = segment_error(e.seen[a].all, e.motion[a], e.jumps);
        std::vector<double> by = smooth(e.seen[a].half[0], e.motion[a], 1, e.jumps).value;
        const std::vector<double> other = smooth(e.seen[a].half[1], e.motion[a], 1, e.jumps).value;
        for (std::size_t f = 0; f < by.size(); ++f) by[f] -= other[f];
        remove_mean(by);
        to.halves_differ_nm[a] = rms(segment_means(by));
        if (by.size() < 2 * segment)  // too few of 100 frames to differ: those of a frame are an upper limit
            to.error_100_nm[a] = rms(mine.error_nm), to.halves_differ_nm[a] = rms(by);
    }
    // By their errors they differ by twice the stated one.
    constexpr double most_over_error = 10;
    for (std::size_t a = 0; a < std::size_t(axes); ++a)
        if (to.halves_differ_nm[a] > most_over_error * to.error_100_nm[a])
            return refuse(to, table.frames, axes,
                          fmt::format("the molecules of two halves of the field tell drifts that differ by {:.3g} nm, "
                                      "where {:.3g} nm are expected: they do not move together, or lie along one line",
                                      to.halves_differ_nm[a], 2 * to.error_100_nm[a]));
    for (std::size_t t = 1; t < e.jumps.size(); ++t)
        if (e.jumps[t]) {
            DriftJump jump;
            jump.frame = std::int64_t(t);
            for (std::size_t a = 0; a < std::size_t(axes); ++a) jump.by_nm[a] = drift[a][t] - drift[a][t - 1];
            to.jumps.push_back(jump);
        }
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
