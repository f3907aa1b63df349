// Finds the motions that make the observations most likely.
// SPDX-License-Identifier: MIT
#include "analysis/drift/motion.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace glint::drift {
namespace {

std::vector<char> bins_of(const std::vector<char>& jumps, std::size_t bins, int width) {
    std::vector<char> to(bins, 0);
    for (std::size_t t = 0; t < jumps.size(); ++t)
        if (jumps[t]) to[std::min(bins - 1, (t + std::size_t(width) / 2) / std::size_t(width))] = 1;
    return to;
}

Motion motion_of(const std::array<double, 3>& log, double white_nm) {
    return {std::exp(std::clamp(log[0], -18.0, 3.0)), std::exp(std::clamp(log[1], -5.0, 6.0)),
            std::exp(std::clamp(log[2], 1.0, 8.0)), white_nm};
}

using SimplexPoint = std::array<double, 3>;  ///< logarithms of step, jitter and time
constexpr std::pair<double, SimplexPoint> nowhere{std::numeric_limits<double>::infinity(), {}};

/// Means over bins of frames, and the bins with jumps, for a fast likelihood.
struct Binned {
    Seen seen;
    std::vector<char> jumps;
    double frames, white_nm;
    Binned(const Seen& of, const std::vector<char>& at, double white) : white_nm(white) {
        const std::size_t width = std::max<std::size_t>(1, of.value.size() / 1500);
        seen = means_of(of, width);
        const std::size_t bins = seen.value.size();
        jumps = bins_of(at, bins, int(width));
        frames = double(width);
    }
    double cost(const SimplexPoint& p) const { return cost(motion_of(p, white_nm)); }
    double cost(Motion motion) const {
        motion.white_nm = white_nm;
        return -log_likelihood(seen, motion, frames, jumps);
    }
};

SimplexPoint place_of(const Motion& m) {
    return {std::log(m.slope_step), std::log(m.jitter_nm), std::log(m.forget_frames)};
}

/// Minimizes `cost` by the simplex method of Nelder and Mead. Returns the lowest cost and its place.
template <class Cost>
std::pair<double, SimplexPoint> lowest(const Motion& start, Cost cost) {
    std::array<std::pair<double, SimplexPoint>, 4> simplex;
    const SimplexPoint first = place_of(start);
    for (std::size_t k = 0; k < 4; ++k) {
        SimplexPoint p = first;
        if (k) p[k - 1] += k == 1 ? 1.5 : 0.7;
        simplex[k] = {cost(p), p};
    }
    for (int turn = 0; turn < 60; ++turn) {
        std::sort(simplex.begin(), simplex.end());
        if (simplex[3].first - simplex[0].first < 0.02) break;
        const auto towards = [&](double by) {
            SimplexPoint p{};
            for (std::size_t a = 0; a < 3; ++a) {
                const double centre = (simplex[0].second[a] + simplex[1].second[a] + simplex[2].second[a]) / 3;
                p[a] = centre + by * (simplex[3].second[a] - centre);
            }
            return std::pair{cost(p), p};
        };
        const auto mirrored = towards(-1);
        if (mirrored.first < simplex[0].first) {
            const auto farther = towards(-2);
            simplex[3] = farther.first < mirrored.first ? farther : mirrored;
        } else if (mirrored.first < simplex[2].first) {
            simplex[3] = mirrored;
        } else if (const auto nearer = towards(mirrored.first < simplex[3].first ? -0.5 : 0.5);
                   nearer.first < std::min(mirrored.first, simplex[3].first)) {
            simplex[3] = nearer;
        } else {
            for (std::size_t k = 1; k < 4; ++k) {
                for (std::size_t a = 0; a < 3; ++a)
                    simplex[k].second[a] = 0.5 * (simplex[k].second[a] + simplex[0].second[a]);
                simplex[k].first = cost(simplex[k].second);
            }
        }
    }
    return *std::min_element(simplex.begin(), simplex.end());
}

}  // namespace

std::vector<Motion> fit_motions(std::span<const AxisToFit> axes, const std::vector<char>& jumps) {
    std::vector<Binned> binned;
    std::vector<Motion> own;
    double cost_of_own = 0;
    for (const AxisToFit& axis : axes) {
        binned.emplace_back(*axis.seen, jumps, axis.starts[0].white_nm);
        std::pair<double, SimplexPoint> best = nowhere;
        for (const Motion& start : axis.starts)
            best = std::min(best, lowest(start, [&](const SimplexPoint& p) { return binned.back().cost(p); }));
        own.push_back(motion_of(best.second, binned.back().white_nm));
        cost_of_own += best.first;
    }
    SimplexPoint middle{};
    for (const Motion& motion : own)
        for (std::size_t k = 0; k < middle.size(); ++k) middle[k] += place_of(motion)[k] / double(own.size());
    const auto common = lowest(motion_of(middle, 0), [&](const SimplexPoint& p) {
        double cost = 0;
        for (const Binned& axis : binned) cost += axis.cost(p);
        return cost;
    });
    const double more_values = double(std::tuple_size_v<SimplexPoint> * (axes.size() - 1)),
                 means = double(binned[0].seen.value.size());
    if (common.first - cost_of_own > 0.5 * more_values * std::log(means)) return own;
    for (Motion& motion : own) motion = motion_of(common.second, motion.white_nm);
    return own;
}

namespace {

/// By how much each step to a richer motion must raise twice the log-likelihood: of all axes together, of a single
/// axis.
constexpr double more_together = 10, more_alone = 2;

/// Returns the motion with the slope step and start slope of the highest likelihood over all axes.
Motion best_of(const std::vector<Binned>& axes, const std::vector<double>& steps, const std::vector<double>& slopes) {
    Motion best = no_motion;
    double lowest = nowhere.first;
    for (const double step : steps)
        for (const double slope : slopes) {
            Motion motion = no_motion;
            motion.slope_step = step, motion.start_slope = slope;
            double cost = 0;
            for (const Binned& axis : axes) cost += axis.cost(motion);
            if (cost < lowest) lowest = cost, best = motion;
        }
    return best;
}

std::vector<double> factors(double from, double to, double by) {
    std::vector<double> values;
    for (double v = from; v < to; v *= by) values.push_back(v);
    return values;
}

}  // namespace

std::vector<Support> supported(std::span<const AxisToFit> axes, std::span<const Motion> full,
                               const std::vector<char>& jumps) {
    std::vector<Binned> binned;
    for (const AxisToFit& axis : axes) binned.emplace_back(*axis.seen, jumps, axis.starts[0].white_nm);
    const double frames = double(axes[0].seen->value.size());
    const std::vector<double> slopes = factors(0.01 / frames, 2, 3);
    const Motion line = best_of(binned, {0}, slopes);
    const double longest = std::pow(frames, -1.5);
    const Motion walk = best_of(binned, factors(0.02 * longest, 1, 2), {line.start_slope});
    std::vector<Support> to(axes.size());
    for (std::size_t a = 0; a < axes.size(); ++a) {
        Motion most = full[a];
        most.start_slope = line.start_slope;
        to[a].ladder = {no_motion, line, walk, most};
        for (std::size_t k = 0; k < motion_kinds; ++k) {
            Motion& motion = to[a].ladder[k];
            to[a].gain[k] = 2 * (binned[a].cost(no_motion) - binned[a].cost(motion));
            motion.white_nm = binned[a].white_nm;
            if (k) motion.start_slope = Motion{}.start_slope;
        }
    }
    return to;
}

std::size_t choose_kinds(std::span<Support> axes, std::size_t richest) {
    const auto best = [](const std::array<double, motion_kinds>& gain, double each, std::size_t most) {
        std::size_t kind = 0;
        for (std::size_t k = 1; k <= most; ++k)
            if (gain[k] - each * double(k) > gain[kind] - each * double(kind)) kind = k;
        return kind;
    };
    std::array<double, motion_kinds> all{};
    for (const Support& axis : axes)
        for (std::size_t k = 0; k < motion_kinds; ++k) all[k] += axis.gain[k];
    const std::size_t together = best(all, more_together, richest);
    std::size_t to = 0;
    for (Support& axis : axes) to = std::max(to, axis.kind = best(axis.gain, more_alone, together));
    return to;
}

}  // namespace glint::drift
