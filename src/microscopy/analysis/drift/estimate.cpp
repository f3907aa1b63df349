// Estimates the drift of the sample during a movie from its localizations alone (theory.md, "Drift"). Reports its
// values, errors, jumps and beads. The errors come from the smoother. Two halves of the field that have no molecule in
// common check them.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>

#include "analysis/drift/improve.hpp"
#include "analysis/drift/sample.hpp"
#include "analysis/drift/scores.hpp"
#include "analysis/drift/smoother.hpp"
#include "analysis/require_table.hpp"
#include "base/arena.hpp"
#include "glint/drift.hpp"
#include "glint/error.hpp"

namespace glint {
namespace drift {
namespace {

constexpr int segment = 100;  ///< frames per mean, for the reported errors

std::vector<double> segment_means(const std::vector<double>& of) {
    std::vector<double> means(std::max<std::size_t>(1, of.size() / segment), 0);
    for (std::size_t k = 0; k < means.size(); ++k) {
        const std::size_t end = std::min(of.size(), (k + 1) * segment);
        for (std::size_t f = k * segment; f < end; ++f) means[k] += of[f];
        means[k] /= double(end - k * segment);
    }
    return means;
}

/// Returns the number of rows of each frame, as weights. A stray row behind many empty frames, over which the drift is
/// a guess, must not decide the reported statistics.
std::vector<double> rows_a_frame(const Sample& s) {
    std::vector<double> rows(std::size_t(s.frames()), 0);
    for (const int frame : s.beads.empty() ? s.molecules.table.frame : s.table.frame) rows[std::size_t(frame)] += 1;
    return rows;
}

double mean(const std::vector<double>& of, const std::vector<double>& rows) {
    const double all = std::accumulate(rows.begin(), rows.end(), 0.0);
    return all > 0 ? std::inner_product(of.begin(), of.end(), rows.begin(), 0.0) / all : 0;
}

double rms(std::vector<double> of, const std::vector<double>& rows) {
    for (double& v : of) v *= v;
    return std::sqrt(mean(of, rows));
}

void remove_mean(std::vector<double>& of, const std::vector<double>& rows) {
    const double by = mean(of, rows);
    for (double& v : of) v -= by;
}

/// Returns the error of the drift's mean over a segment: that of the smoother for means of `segment` frames.
double segment_error(const Seen& seen, const Motion& motion, const std::vector<char>& jumps,
                     const std::vector<double>& rows) {
    Seen means = means_of(seen, segment);
    const std::size_t whole = seen.value.size() / segment;  // without a shorter last segment
    means.value.resize(whole), means.information.resize(whole);
    std::vector<char> at(whole, 0);
    for (std::size_t f = 0; f < whole * segment; ++f) at[f / segment] = char(at[f / segment] | jumps[f]);
    if (means.value.empty()) return 0;
    return std::sqrt(mean(smooth(means, motion, segment, at).variance, segment_means(rows)));
}

AxisDrift& axis(Drift& drift, std::size_t a) { return a == 0 ? drift.x : a == 1 ? drift.y : drift.z; }

std::vector<DriftBead> beads_told(const std::vector<BeadTrack>& tracks, double pixel_size_nm) {
    std::vector<DriftBead> beads;
    for (const BeadTrack& track : tracks)
        beads.push_back(
            {track.place_nm[0] / pixel_size_nm, track.place_nm[1] / pixel_size_nm, track.own_nm, track.used});
    return beads;
}

/// Converts the results from axes that are turned by `angle` to x and y.
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
    errors(drift.rms_100_nm[0], drift.rms_100_nm[1]);
}

/// Extends the drift from the frames with rows to the movie. Before the first row and after the last, the drift is
/// constant and its error is NaN.
void to_all_frames(AxisDrift& axis, const Table& table) {
    if (axis.nm.empty()) return;
    const auto before = std::size_t(table.first_frame), frames = std::size_t(table.movie_frames);
    axis.nm.insert(axis.nm.begin(), before, axis.nm.front());
    axis.nm.resize(frames, axis.nm.back());
    const double unknown = std::nan("");
    axis.error_nm.insert(axis.error_nm.begin(), before, unknown);
    axis.error_nm.resize(frames, unknown);
}

/// Fills `to` along the sample's axes. Returns why the drift cannot be trusted; empty if it can.
std::string state(const MotionEstimate& e, Sample& s, Drift& to) {
    constexpr double max_over_error = 5;
    std::string why;
    const std::vector<double> rows = rows_a_frame(s);
    for (std::size_t a = 0; a < std::size_t(s.axes()); ++a) {
        remove_mean(s.drift[a], rows);
        AxisDrift& mine = axis(to, a);
        mine.nm = s.drift[a];
        mine.error_nm.resize(mine.nm.size());
        const auto& [all, half, lasting, apart] = e.seen[a];
        const Motion& richer = e.supported[a].richer();
        const std::vector<double> variance = smooth(all, richer, 1, e.jumps).variance;
        for (std::size_t f = 0; f < mine.nm.size(); ++f) mine.error_nm[f] = std::sqrt(variance[f]);
        to.error_100_nm[a] = segment_error(all, richer, e.jumps, rows);
        double expected =
            std::hypot(segment_error(half[0], richer, e.jumps, rows), segment_error(half[1], richer, e.jumps, rows));
        std::vector<double> by = smooth(half[0], richer, 1, e.jumps).value;
        const std::vector<double> other = smooth(half[1], richer, 1, e.jumps).value;
        for (std::size_t f = 0; f < by.size(); ++f) by[f] -= other[f];
        remove_mean(by, rows);
        to.halves_differ_nm[a] = rms(segment_means(by), segment_means(rows));
        to.rms_100_nm[a] = rms(segment_means(mine.nm), segment_means(rows));
        if (by.size() < 2 * segment) {  // too few means of 100 frames: single frames give an upper limit
            to.error_100_nm[a] = rms(mine.error_nm, rows), to.halves_differ_nm[a] = rms(by, rows);
            to.rms_100_nm[a] = rms(mine.nm, rows);
            expected = 2 * to.error_100_nm[a];
        }
        expected /= apart;
        if (to.halves_differ_nm[a] > max_over_error * expected)
            why = fmt::format(
                "the molecules in two halves of the field show drifts that differ by {:.3g} nm, but {:.3g} nm are "
                "expected: they do not move together, or they lie along one line",
                to.halves_differ_nm[a], expected);
    }
    for (std::size_t side = 0; side < e.sides.size(); ++side) to.sides_differ_nm[side] = e.sides[side].rms_nm;
    for (std::size_t t = 1; t < e.jumps.size(); ++t)
        if (e.jumps[t]) {
            DriftJump& jump = to.jumps.emplace_back();
            jump.frame = std::int64_t(t);
            for (std::size_t a = 0; a < std::size_t(s.axes()); ++a) jump.by_nm[a] = s.drift[a][t] - s.drift[a][t - 1];
        }
    return why;
}

/// Warns if segments may be placed wrongly, or if parts of the field move apart.
void warn_of_doubts(const Drift& to, const MotionEstimate& e, const Sample& s, const Warn& warn) {
    constexpr double max_wrong_match = 0.05, max_over_errors = 4, min_over_error = 2;
    if (!warn) return;
    if (to.wrong_match > max_wrong_match)
        warn(fmt::format(
            "the structure repeats itself: with a probability of {:.2g}, a part of the movie belongs up to {:.0f} nm "
            "elsewhere, where it fits about as well. The nearest place was used, so that a drift of more than half of "
            "this distance in {} frames is missed or wrong. Use beads, or frames in which more molecules shine",
            to.wrong_match, to.wrong_match_nm, std::max(1, to.first_segment_frames)));
    const double error = std::max(to.error_100_nm[0], to.error_100_nm[1]);
    for (std::size_t side = 0; side < e.sides.size(); ++side) {
        const auto [rms_nm, over_errors] = e.sides[side];
        if (over_errors < max_over_errors || rms_nm < min_over_error * error) continue;
        const char* sides[] = {"the left and the right half of the field", "the upper and the lower half of the field"};
        warn(fmt::format(
            "{} move apart by {:.3g} nm RMS, but their errors are {:.2g} nm: a single drift is right for neither. "
            "Split the table, as by `filter_where={}_px < ...`, and correct each part separately",
            s.angle == 0 ? sides[side] : "two halves of the field", rms_nm, rms_nm / std::sqrt(over_errors),
            side ? "y" : "x"));
    }
}

/// Replaces the drift with zeros, and records why.
void refuse(Drift& to, const Sample& s, const std::string& why) {
    to.refused = true, to.why = why;
    for (std::size_t a = 0; a < std::size_t(s.axes()); ++a)
        axis(to, a) = {std::vector<double>(std::size_t(s.table.movie_frames), 0), {}};
}

/// Adds the beads. Converts all results from the sample's axes and frames to x, y and the frames of the movie.
void finish(Drift& to, const Sample& s, double pixel_size_nm) {
    to.beads = beads_told(s.tracks, pixel_size_nm);
    turn_back(to, s.angle);
    for (std::size_t a = 0; a < std::size_t(s.axes()); ++a) to_all_frames(axis(to, a), s.table);
    for (DriftJump& jump : to.jumps) jump.frame += s.table.first_frame;
}

Drift estimated(const Localizations& localizations, const DriftOptions& options) {
    require_whole_frames(localizations, "the drift");
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
        finish(to, sample, localizations.pixel_size_nm);
        refuse(to, sample, why);
        return to;
    };
    step_done();
    std::string why = find_start(sample, to, stopped);
    if (!why.empty() && !sample.beads_suffice()) return refused(why);
    step_done();
    MotionEstimate e;
    constexpr auto all = ~std::size_t(0) / 2;
    const bool molecules_tell = why.empty();
    for (const Turn& turn : {Turn{25, 30000}, Turn{8, 60000}, Turn{2, all}, Turn{0.5, all, true}}) {
        if (why = improve(sample, e, turn, molecules_tell); !why.empty()) return refused(why);
        step_done();
    }
    if (why = state(e, sample, to); !why.empty()) return refused(why);
    warn_of_doubts(to, e, sample, options.warn);
    finish(to, sample, localizations.pixel_size_nm);
    step_done();
    return to;
}

}  // namespace
}  // namespace drift

Drift estimate_drift(const Localizations& localizations, const DriftOptions& options) {
    Drift to;
    in_own_arena([&] { to = drift::estimated(localizations, options); });
    return to;
}

}  // namespace glint
