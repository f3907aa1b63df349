// One axis' drift from noisy means a frame: a Kalman smoother of a smooth curve, a jitter that forgets and jumps.
// SPDX-License-Identifier: MIT
#include "analysis/drift/smoother.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace glint::drift {
namespace {

constexpr double start_variance = 1e6, jump_variance = 1e4;

/// Of the state: level, slope, jitter, lasting error (in units of its standard deviation).
constexpr std::size_t states = 4;
using Vector = std::array<double, states>;
using Matrix = std::array<Vector, states>;

struct Step {
    Vector a{};
    Matrix p{};
    double innovation = 0, spread = 0;  // 0: not seen
    Vector gain{};
};

struct Walk {
    double step, keep, q_ll, q_ls, q_ss, q_jj, jitter, lasts, q_ee;
    Walk(const Motion& m, double frames, double lasting_frames) : step(frames) {
        keep = std::exp(-frames / m.forget_frames);
        const double q = m.slope_step * m.slope_step;
        q_ll = q * frames * frames * frames / 3, q_ls = q * frames * frames / 2, q_ss = q * frames;
        jitter = m.jitter_nm * m.jitter_nm;
        q_jj = jitter * (1 - keep * keep);
        lasts = std::exp(-frames / lasting_frames);
        q_ee = 1 - lasts * lasts;
    }
    void predict(Vector& a, Matrix& p) const {
        a = {a[0] + step * a[1], a[1], keep * a[2], lasts * a[3]};
        // The level takes the slope's row, then its column; the others shrink.
        for (std::size_t k = 0; k < states; ++k) p[0][k] += step * p[1][k];
        for (std::size_t k = 0; k < states; ++k) p[k][0] += step * p[k][1];
        for (std::size_t k = 0; k < states; ++k) p[2][k] *= keep, p[3][k] *= lasts;
        for (std::size_t k = 0; k < states; ++k) p[k][2] *= keep, p[k][3] *= lasts;
        p[0][0] += q_ll, p[0][1] += q_ls, p[1][0] += q_ls, p[1][1] += q_ss, p[2][2] += q_jj, p[3][3] += q_ee;
    }
    /// The transposed transition times `v`.
    Vector back(const Vector& v) const { return {v[0], step * v[0] + v[1], keep * v[2], lasts * v[3]}; }
};

double lasting_nm(const Seen& seen, std::size_t t) { return seen.lasting.empty() ? 0 : std::sqrt(seen.lasting[t]); }

double new_error(const Seen& seen, std::size_t t) {
    return 1 / seen.information[t] - (seen.lasting.empty() ? 0 : seen.lasting[t]);
}

template <class Keep>
double filter(const Seen& seen, const Motion& motion, double frames, const std::vector<char>& jumps, Keep keep) {
    const Walk walk(motion, frames, seen.lasting_frames);
    const double white = motion.white_nm * motion.white_nm / frames;
    Vector a{};
    Matrix p{};
    p[0][0] = start_variance, p[1][1] = motion.start_slope * motion.start_slope, p[2][2] = walk.jitter, p[3][3] = 1;
    double total = 0;
    bool placed = false;  // the first observation only places the level
    for (std::size_t t = 0; t < seen.value.size(); ++t) {
        if (t) walk.predict(a, p);
        if (jumps[t]) p[0][0] += jump_variance;
        Step step{a, p, 0, 0, {}};
        if (seen.information[t] > 0) {
            const Vector h{1, 0, 1, lasting_nm(seen, t)};
            Vector z;
            for (std::size_t k = 0; k < states; ++k) z[k] = p[k][0] + p[k][2] + h[3] * p[k][3];
            const double f = z[0] + z[2] + h[3] * z[3] + white + new_error(seen, t);
            const double v = seen.value[t] - a[0] - a[2] - h[3] * a[3];
            step.innovation = v, step.spread = f;
            for (std::size_t k = 0; k < states; ++k) step.gain[k] = z[k] / f;
            if (placed) total -= 0.5 * (std::log(f) + v * v / f);
            placed = true;
            for (std::size_t k = 0; k < states; ++k) {
                a[k] += step.gain[k] * v;
                for (std::size_t i = 0; i < states; ++i) p[k][i] -= step.gain[k] * z[i];
            }
        }
        keep(t, step);
    }
    return total;
}

double product(const Vector& a, const Vector& b) {
    double sum = 0;
    for (std::size_t k = 0; k < states; ++k) sum += a[k] * b[k];
    return sum;
}

Vector product(const Matrix& a, const Vector& b) {
    Vector to;
    for (std::size_t k = 0; k < states; ++k) to[k] = product(a[k], b);
    return to;
}

}  // namespace

Seen means_of(const Seen& seen, int width) {
    const std::size_t n = seen.value.size(), in = std::size_t(width), bins = (n + in - 1) / in;
    Seen to{std::vector<double>(bins, 0), std::vector<double>(bins, 0), {}, seen.lasting_frames};
    if (!seen.lasting.empty()) to.lasting.assign(bins, 0);
    // Of means, a lasting error has the same power at long times.
    const double one = std::exp(-1 / seen.lasting_frames), all = std::exp(-width / seen.lasting_frames);
    const double lasts = (1 + one) / (1 - one) * (1 - all) / (1 + all);
    std::vector<double> variance(bins, 0);
    for (std::size_t t = 0; t < n; ++t) {
        const double information = seen.information[t];
        if (!(information > 0)) continue;
        const std::size_t bin = t / in;
        to.value[bin] += seen.value[t] * information;
        to.information[bin] += information;
        variance[bin] += information * information * new_error(seen, t);
        if (!seen.lasting.empty()) to.lasting[bin] += information * information * seen.lasting[t] * lasts;
    }
    for (std::size_t bin = 0; bin < bins; ++bin) {
        const double all_here = to.information[bin];
        if (!(all_here > 0)) continue;
        to.value[bin] /= all_here;
        double whole = variance[bin] / (all_here * all_here);
        if (!to.lasting.empty()) whole += to.lasting[bin] /= all_here * all_here;
        to.information[bin] = 1 / whole;
    }
    return to;
}

double log_likelihood(const Seen& seen, const Motion& motion, double frames, const std::vector<char>& jumps) {
    return filter(seen, motion, frames, jumps, [](std::size_t, const Step&) {});
}

Smooth smooth(const Seen& seen, const Motion& motion, double frames, const std::vector<char>& jumps) {
    const std::size_t n = seen.value.size();
    std::vector<Step> steps(n);
    Smooth to;
    to.log_likelihood = filter(seen, motion, frames, jumps, [&](std::size_t t, const Step& s) { steps[t] = s; });
    to.value.resize(n), to.variance.resize(n), to.jump_test.assign(n, 0);
    const Walk walk(motion, frames, seen.lasting_frames);
    Vector r{};
    Matrix info{};
    const double white = motion.white_nm * motion.white_nm / frames;
    for (std::size_t t = n; t-- > 0;) {
        const Step& s = steps[t];
        const Vector h{1, 0, 1, lasting_nm(seen, t)};
        // r and info of after this frame become those of before it: by the transition, then by what is seen.
        r = walk.back(r);
        for (std::size_t k = 0; k < states; ++k) info[k] = walk.back(info[k]);  // symmetric: columns, then rows
        for (std::size_t k = 0; k < states; ++k) {
            Vector column;
            for (std::size_t i = 0; i < states; ++i) column[i] = info[i][k];
            column = walk.back(column);
            for (std::size_t i = 0; i < states; ++i) info[i][k] = column[i];
        }
        if (s.spread > 0) {
            const double along = product(s.gain, r);
            const Vector gained = product(info, s.gain);
            const double both = product(s.gain, gained);
            for (std::size_t i = 0; i < states; ++i) r[i] += h[i] * (s.innovation / s.spread - along);
            for (std::size_t i = 0; i < states; ++i)
                for (std::size_t k = 0; k < states; ++k)
                    info[i][k] += h[i] * h[k] * (both + 1 / s.spread) - h[i] * gained[k] - gained[i] * h[k];
        }
        if (info[0][0] > 0 && t > 0) to.jump_test[t] = r[0] * r[0] / info[0][0];
        Vector of_drift, of_seen;  // covariances of level + jitter, and of these and the lasting error, with the state
        for (std::size_t i = 0; i < states; ++i) {
            of_drift[i] = s.p[0][i] + s.p[2][i];
            of_seen[i] = of_drift[i] + h[3] * s.p[3][i];
        }
        const Vector seen_by = product(info, of_seen);
        const double value = s.a[0] + s.a[2] + product(of_drift, r);
        const double seen_value = s.a[0] + s.a[2] + h[3] * s.a[3] + product(of_seen, r);
        const double variance = std::max(0.0, of_drift[0] + of_drift[2] - product(of_drift, product(info, of_drift)));
        const double both = of_drift[0] + of_drift[2] + h[3] * of_drift[3] - product(of_drift, seen_by);
        const double of_all = std::max(0.0, of_seen[0] + of_seen[2] + h[3] * of_seen[3] - product(of_seen, seen_by));
        // What is white in this frame, from what the frame shows beyond the curve.
        const bool has = seen.information[t] > 0;
        const double noise = has ? new_error(seen, t) : 0;
        const double part = has && white > 0 ? white / (white + noise) : 0;
        to.value[t] = value + part * (has ? seen.value[t] - seen_value : 0);
        to.variance[t] =
            std::max(0.0, variance - 2 * part * both + part * part * of_all) + (part > 0 ? part * noise : white);
    }
    return to;
}

}  // namespace glint::drift
