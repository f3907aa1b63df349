// A Kalman smoother for the drift of one axis, from noisy means of frames. The drift is a smooth curve, a decaying
// jitter and jumps.
// SPDX-License-Identifier: MIT
#include "analysis/drift/smoother.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace glint::drift {
namespace {

constexpr double start_variance = 1e6, jump_variance = 1e4;

struct Sym {  // symmetric matrix for level, slope and jitter
    double ll = 0, ls = 0, lj = 0, ss = 0, sj = 0, jj = 0;
};
struct State {
    double l = 0, s = 0, j = 0;
};

struct Step {
    State a;
    Sym p;
    double innovation = 0, spread = 0;  // spread 0: not observed
    State gain;
};

struct Walk {
    double step, keep, q_ll, q_ls, q_ss, q_jj, jitter;
    Walk(const Motion& m, double frames) : step(frames) {
        keep = std::exp(-frames / m.forget_frames);
        const double q = m.slope_step * m.slope_step;
        q_ll = q * frames * frames * frames / 3, q_ls = q * frames * frames / 2, q_ss = q * frames;
        jitter = m.jitter_nm * m.jitter_nm;
        q_jj = jitter * (1 - keep * keep);
    }
    void predict(State& a, Sym& p) const {
        a = {a.l + step * a.s, a.s, keep * a.j};
        p = {p.ll + 2 * step * p.ls + step * step * p.ss + q_ll,
             p.ls + step * p.ss + q_ls,
             keep * (p.lj + step * p.sj),
             p.ss + q_ss,
             keep * p.sj,
             keep * keep * p.jj + q_jj};
    }
};

template <class Keep>
double filter(const Seen& seen, const Motion& motion, double frames, const std::vector<char>& jumps, Keep keep) {
    const Walk walk(motion, frames);
    const double white = motion.white_nm * motion.white_nm / frames;
    State a;
    Sym p{start_variance, 0, 0, motion.start_slope * motion.start_slope, 0, walk.jitter};
    double total = 0;
    bool placed = false;  // the first observation only sets the level
    for (std::size_t t = 0; t < seen.value.size(); ++t) {
        if (t) walk.predict(a, p);
        if (jumps[t]) p.ll += jump_variance;
        Step step{a, p, 0, 0, {}};
        if (seen.information[t] > 0) {
            const State z{p.ll + p.lj, p.ls + p.sj, p.lj + p.jj};
            const double f = z.l + z.j + white + 1 / seen.information[t], v = seen.value[t] - a.l - a.j;
            step.innovation = v, step.spread = f, step.gain = {z.l / f, z.s / f, z.j / f};
            if (placed) total -= 0.5 * (std::log(f) + v * v / f);
            placed = true;
            a = {a.l + step.gain.l * v, a.s + step.gain.s * v, a.j + step.gain.j * v};
            p = {p.ll - step.gain.l * z.l, p.ls - step.gain.l * z.s, p.lj - step.gain.l * z.j,
                 p.ss - step.gain.s * z.s, p.sj - step.gain.s * z.j, p.jj - step.gain.j * z.j};
        }
        keep(t, step);
    }
    return total;
}

using Matrix = std::array<std::array<double, 3>, 3>;
Matrix full(const Sym& p) { return {{{p.ll, p.ls, p.lj}, {p.ls, p.ss, p.sj}, {p.lj, p.sj, p.jj}}}; }
Matrix product(const Matrix& a, const Matrix& b) {
    Matrix c{};
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t k = 0; k < 3; ++k)
            for (std::size_t j = 0; j < 3; ++j) c[i][j] += a[i][k] * b[k][j];
    return c;
}
Matrix transposed(const Matrix& a) {
    Matrix b{};
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 3; ++j) b[i][j] = a[j][i];
    return b;
}

}  // namespace

Seen means_of(const Seen& seen, std::size_t width) {
    const std::size_t n = seen.value.size(), bins = (n + width - 1) / width;
    Seen to{std::vector<double>(bins, 0), std::vector<double>(bins, 0)};
    for (std::size_t t = 0; t < n; ++t) {
        to.value[t / width] += seen.value[t] * seen.information[t];
        to.information[t / width] += seen.information[t];
    }
    for (std::size_t bin = 0; bin < bins; ++bin)
        if (to.information[bin] > 0) to.value[bin] /= to.information[bin];
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
    const Walk walk(motion, frames);
    const Matrix step_matrix{{{1, walk.step, 0}, {0, 1, 0}, {0, 0, walk.keep}}};
    std::array<double, 3> r{};
    Matrix info{};
    const double white = motion.white_nm * motion.white_nm / frames;
    for (std::size_t t = n; t-- > 0;) {
        const Step& s = steps[t];
        Matrix l = step_matrix;
        if (s.spread > 0) {
            const std::array<double, 3> gain{s.gain.l, s.gain.s, s.gain.j};
            Matrix left{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
            for (std::size_t i = 0; i < 3; ++i) left[i][0] -= gain[i], left[i][2] -= gain[i];
            l = product(step_matrix, left);
        }
        const Matrix lt = transposed(l);
        std::array<double, 3> before{};
        for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t k = 0; k < 3; ++k) before[i] += lt[i][k] * r[k];
        Matrix info_before = product(product(lt, info), l);
        if (s.spread > 0)
            for (std::size_t i = 0; i < 3; i += 2) {
                before[i] += s.innovation / s.spread;
                for (std::size_t k = 0; k < 3; k += 2) info_before[i][k] += 1 / s.spread;
            }
        r = before, info = info_before;
        if (info[0][0] > 0 && t > 0) to.jump_test[t] = r[0] * r[0] / info[0][0];
        const Matrix p = full(s.p);
        std::array<double, 3> z{};  // row of P for level + jitter
        for (std::size_t i = 0; i < 3; ++i) z[i] = p[0][i] + p[2][i];
        double value = s.a.l + s.a.j, variance = z[0] + z[2];
        for (std::size_t i = 0; i < 3; ++i) {
            value += z[i] * r[i];
            for (std::size_t k = 0; k < 3; ++k) variance -= z[i] * info[i][k] * z[k];
        }
        variance = std::max(variance, 0.0);
        // The white jitter of this frame, from its observation beyond the curve.
        const double noise = seen.information[t] > 0 ? 1 / seen.information[t] : 0;
        const double part = seen.information[t] > 0 && white > 0 ? white / (white + noise) : 0;
        to.value[t] = value + part * (seen.information[t] > 0 ? seen.value[t] - value : 0);
        to.variance[t] = (1 - part) * (1 - part) * variance + (part > 0 ? part * noise : white);
    }
    return to;
}

}  // namespace glint::drift
