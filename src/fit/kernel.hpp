// The one kernel: a maximum-likelihood fit per lane by Fisher scoring (docs/theory.md, section 3).
//
// After Smith et al., Nat. Methods 7, 373 (2010), with the full Fisher matrix instead of its diagonal: the model
// separates by axis, so erf and exp are evaluated per pixel edge and the pixels only need products and sums. A model that
// does not separate is asked for each pixel of a row (psf/model.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/cholesky.hpp"
#include "fit/goodness.hpp"
#include "fit/kernel_abi.hpp"
#include "psf/axis.hpp"
#include "psf/model.hpp"

namespace glint::GLINT_ISA {

constexpr int max_size = 31;
constexpr float model_floor = 0.01f;  // the least model value of a pixel, e-: mu' > 0 is the only bound on bg
constexpr float rounding = 4e-7f;     // of a profile (special.hpp), so of the model by so many photons
constexpr float photons_floor = 1.0f;

/// The pixels of one group of fits. `data` is d' (docs/theory.md, eq. 2.2), `known` the part of the model that is not
/// fitted, m / f + v / f^2, per pixel or (null) the same everywhere.
struct GroupPixels {
    const float* data;
    const float* known;
    const float* variance;  // v / f^2 per pixel, for the p value; null: `variance_scalar`
    Lane known_scalar, known_least;
    float variance_scalar;
    int size;
    const float* weight = nullptr;  // q of each pixel, where there is a map of it (eq. 2.3)

    GLINT_INLINE Lane q(int p) const { return load(weight + p * lane_width); }
    GLINT_INLINE Lane d(int p) const { return load(data + p * lane_width); }
    GLINT_INLINE Lane v(int p) const { return variance ? load(variance + p * lane_width) : splat(variance_scalar); }
};

/// What a fit works on: parameters x, y, N, bg, then the shape parameters; gradient and Fisher matrix of log L.
template <class Psf>
struct Score {
    static constexpr int P = 4 + shape_parameters<Psf>;
    static_assert(P <= most_parameters);
    Lane gradient[P];
    Lane fisher[P * (P + 1) / 2];
};

/// Result of a group of fits; bg is without the known part, N and bg still divided by f.
template <class Psf>
struct GroupResult {
    static constexpr int P = Score<Psf>::P;
    Lane theta[P], variance[P];
    Goodness goodness;
    Lane iterations;
    Mask converged, bounded, singular;
};

/// The status as a number (glint::FitStatus), worst last so that it wins. A position that the pixels leave open by more
/// than the ROI is as good as singular: an empty or saturated ROI.
template <class Psf>
GLINT_INLINE IntLane status_of(const GroupResult<Psf>& fit, float size, Mask bad) {
    const Mask lost = negate(max(fit.variance[0], fit.variance[1]) < size * size);
    IntLane status = fit.converged ? IntLane{} : IntLane{} + 1;
    status = (fit.converged & fit.bounded) ? IntLane{} + 2 : status;
    status = (fit.singular | lost) ? IntLane{} + 3 : status;
    return bad ? IntLane{} + 4 : status;
}

/// The fit of one group. `fixed` is the ROI size where it is known at compile time, else 0. `mapped`: whether the
/// known part differs from pixel to pixel; `weighted`: whether the quantum efficiency does, too.
template <class Psf, int fixed, bool mapped, bool weighted = false>
class GroupFit {
    static constexpr int P = Score<Psf>::P;
    static constexpr int shapes = shape_parameters<Psf>;
    static constexpr int capacity = fixed ? fixed : max_size;
    // Rows that stand in a GPU's code one after the other: more do not fit its registers and instruction cache.
    static constexpr int rows_at_once = shapes == 0 && !mapped ? 2 : 1;
    static constexpr int start_rows_at_once = rows_at_once == 2 && fixed > 0 && fixed <= 7 ? 7 : 1;

    const GroupPixels& pixels_;
    const Psf& psf_;
    const KernelOptions& options_;
    Lane theta_[P];
    Lane least_bg_ = Lane{};  // at theta_'s position: below it some pixel's model would fall under the floor

    GLINT_INLINE int size() const {
        const int s = fixed ? fixed : pixels_.size;
        if (s < 3) __builtin_unreachable();
        return s;
    }

  public:
    GLINT_INLINE GroupFit(const GroupPixels& pixels, const Psf& psf, const KernelOptions& options)
        : pixels_(pixels), psf_(psf), options_(options) {}

    GLINT_INLINE void start_from(const Lane* theta) {
        for (int k = 0; k < P; ++k) theta_[k] = theta[k];
    }

    /// The brightest 3x3 neighbourhood, then one linear least squares step for N, bg and the offset from its centre,
    /// for each of the model's candidate shapes; the candidate with the least residual wins.
    GLINT_INLINE void estimate_start() {
        Lane x, y;
        brightest(x, y);
        estimate_start(x, y);
    }

    /// The same from a position that is known to a pixel.
    GLINT_INLINE void estimate_start(Lane x, Lane y) {
        Lane best = splat(3e38f);
        for (int k = 0; k < Psf::start_candidates; ++k) {
            Lane theta[P] = {x, y};
            psf_.start(k, theta + 4);
            const Lane residual = linear_start(theta);
            const Mask better = residual < best;
            best = select(better, residual, best);
            for (int q = 0; q < P; ++q) theta_[q] = k == 0 ? theta[q] : select(better, theta[q], theta_[q]);
        }
    }

    GLINT_INLINE Lane background() const { return theta_[3]; }

    GLINT_INLINE void run(GroupResult<Psf>& out) {
        Mask done = all_false();
        out.iterations = Lane{};
        out.bounded = out.singular = all_false();
        Score<Psf> score, last{};
        Lane previous[P], previous_slope = Lane{}, fraction = splat(1.0f);
        for (int k = 0; k < P; ++k) previous[k] = Lane{};
        for (int iteration = 0; iteration < options_.max_iterations && !all(done); ++iteration) {
            const Mask idle = lane_width > 1 ? done : all_false();  // a lane alone leaves the loop when it is done
            evaluate(score);
            const Mask fixed_now = hold_bounded(score);
            const Cholesky<P> factor(score.fisher);
            Lane step[P];
            factor.solve(score.gradient, step);
            damp(score, previous, previous_slope, fraction);
            take_step(step, fraction, previous);
            Lane slope = Lane{};
            GLINT_UNROLL
            for (int k = 0; k < P; ++k) {
                slope += previous[k] * score.gradient[k];
                theta_[k] = select(idle, theta_[k], theta_[k] + previous[k]);
            }
            Mask small = all_true();
            GLINT_UNROLL
            for (int k = 0; k < P; ++k)
                small &=
                    previous[k] * previous[k] * score.fisher[packed(k, k)] < options_.tolerance * options_.tolerance;
            previous_slope = slope;
            for (int k = 0; k < P * (P + 1) / 2; ++k)
                last.fisher[k] = iteration == 0 ? score.fisher[k] : select(idle, last.fisher[k], score.fisher[k]);
            out.iterations += select(idle, Lane{}, splat(1.0f));
            out.bounded = select_mask(idle, out.bounded, fixed_now);
            out.singular = select_mask(idle, out.singular, factor.singular);
            done |= small;
        }
        out.converged = done;
        const Cholesky<P> factor(last.fisher);
        factor.inverse_diagonal(out.variance);
        for (int k = 0; k < P; ++k) out.theta[k] = theta_[k];
    }

    /// Deviance at the solution, and its moments under a right model.
    template <PixelNoise noise>
    GLINT_NOINLINE void add_goodness(Goodness& sum) const {
        if (weighted || any(theta_[3] + pixels_.known_least < bright_model))
            add_goodness<noise, false>(sum);
        else
            add_goodness<noise, true>(sum);
    }

  private:
    template <PixelNoise noise, bool bright>
    GLINT_INLINE void add_goodness(Goodness& sum) const {
        const int s = size();
        if constexpr (!Psf::separable) {
            Lane unused_slopes[2 + shapes];
            for (int j = 0; j < s; ++j) {
                const auto row = psf_.row(theta_, j);
                for (int i = 0; i < s; ++i) {
                    const int p = j * s + i;
                    const Lane mu =
                        max(theta_[2] * row.at(i, unused_slopes) + theta_[3] + known(p), splat(model_floor));
                    add_pixel<noise, bright>(sum, p, mu);
                }
            }
            return;
        }
        const Widths w = psf_.widths(theta_ + 4);
        Lane a[capacity], unused;
        AxisWalk<false> along_x(theta_[0], w.x), along_y(theta_[1], w.y);
        GLINT_UNROLL
        for (int i = 0; i < s; ++i) along_x.next(i, a[i], unused, unused);
        GLINT_UNROLL_BY(1)
        for (int j = 0; j < s; ++j) {
            Lane c;
            along_y.next(j, c, unused, unused);
            const Lane nc = theta_[2] * c;
            GLINT_UNROLL
            for (int i = 0; i < s; ++i) {
                const int p = j * s + i;
                const Lane model = nc * a[i] + (theta_[3] + known(p));
                add_pixel<noise, bright>(sum, p, bright ? model : max(model, splat(model_floor)));
            }
        }
    }

    /// Pixel p, whose model is mu.
    template <PixelNoise noise, bool bright>
    GLINT_INLINE void add_pixel(Goodness& sum, int p, Lane mu) const {
        if constexpr (weighted) {
            const Lane q = pixels_.q(p);
            GLINT_ISA::add_pixel<noise, bright>(sum, q * pixels_.d(p), q * mu, q * pixels_.v(p));
        } else {
            GLINT_ISA::add_pixel<noise, bright>(sum, pixels_.d(p), mu, pixels_.v(p));
        }
    }

    static GLINT_INLINE Mask select_mask(Mask mask, Mask yes, Mask no) { return (mask & yes) | (negate(mask) & no); }

    GLINT_INLINE Lane known(int p) const {
        return mapped ? load(pixels_.known + p * lane_width) : pixels_.known_scalar;
    }

    /// Centre of the brightest 3x3 neighbourhood (smaller at the edges, with the mean of what is there).
    GLINT_INLINE void brightest(Lane& x, Lane& y) const {
        const int s = size();
        Lane column[capacity];  // sums of three neighbours along y
        Lane best = splat(-3e38f), where = Lane{};
        GLINT_UNROLL_BY(start_rows_at_once)
        for (int j = 0; j < s; ++j) {
            const int above = (j > 0 ? j - 1 : j) * s, below = (j + 1 < s ? j + 1 : j) * s;
            GLINT_UNROLL
            for (int i = 0; i < s; ++i) column[i] = relative(above + i) + relative(j * s + i) + relative(below + i);
            GLINT_UNROLL
            for (int i = 0; i < s; ++i) {
                const Lane sum = column[i] + column[i > 0 ? i - 1 : i] + column[i + 1 < s ? i + 1 : i];
                where = select(sum > best, splat(float(j * s + i)), where);
                best = max(best, sum);
            }
        }
        y = to_float(to_int((where + 0.5f) * (1.0f / s)));
        x = where - y * float(s);
    }

    /// d' less the known part, but for a constant.
    GLINT_INLINE Lane relative(int p) const { return mapped ? excess(p) : pixels_.d(p); }

    /// d' less the known part.
    GLINT_INLINE Lane excess(int p) const { return pixels_.d(p) - known(p); }

    /// At theta's position and shape: N and bg by linear least squares, then the offset of the position by its first
    /// moments. Returns the residual sum of squares up to a constant.
    GLINT_INLINE Lane linear_start(Lane* theta) const {
        if constexpr (!Psf::separable) return linear_start_by_rows(theta);
        const int s = size();
        const Widths w = psf_.widths(theta + 4);
        Lane ax[capacity], bx[capacity], unused;
        AxisWalk<false> along_x(theta[0], w.x), along_y(theta[1], w.y);
        Lane a1 = Lane{}, a2 = Lane{}, b2 = Lane{};
        GLINT_UNROLL
        for (int i = 0; i < s; ++i) {
            along_x.next(i, ax[i], bx[i], unused);
            a1 += ax[i], a2 += ax[i] * ax[i], b2 += bx[i] * bx[i];
        }
        Lane c1 = Lane{}, c2 = Lane{}, e2 = Lane{};
        Lane sum = Lane{}, peak = Lane{}, moment_x = Lane{}, moment_y = Lane{};
        GLINT_UNROLL_BY(1)
        for (int j = 0; j < s; ++j) {
            Lane c, e, row = Lane{}, row_a = Lane{}, row_b = Lane{};
            along_y.next(j, c, e, unused);
            GLINT_UNROLL
            for (int i = 0; i < s; ++i) {
                const Lane d = excess(j * s + i);
                row += d, row_a += d * ax[i], row_b += d * bx[i];
            }
            c1 += c, c2 += c * c, e2 += e * e;
            sum += row, peak += row_a * c, moment_x += row_b * c, moment_y += row_a * e;
        }
        const float pixels = float(s * s);
        const Lane k1 = a1 * c1, k2 = a2 * c2;
        const Lane n = (peak - sum * k1 * (1.0f / pixels)) / max(k2 - k1 * k1 * (1.0f / pixels), splat(1e-6f));
        theta[2] = max(n, splat(10.0f));
        theta[3] = (sum - theta[2] * k1) * (1.0f / pixels);
        const Lane half = splat(0.7f), r_n = 1.0f / theta[2];
        theta[0] += clamp(moment_x * r_n / max(b2 * c2, splat(1e-9f)), -half, half);
        theta[1] += clamp(moment_y * r_n / max(a2 * e2, splat(1e-9f)), -half, half);
        return -(peak - sum * k1 * (1.0f / pixels)) * n;
    }

    /// The same of a model that does not separate.
    GLINT_INLINE Lane linear_start_by_rows(Lane* theta) const {
        const int s = size();
        Lane k1 = Lane{}, k2 = Lane{}, bx2 = Lane{}, by2 = Lane{};
        Lane sum = Lane{}, peak = Lane{}, moment_x = Lane{}, moment_y = Lane{}, slope[2 + shapes];
        for (int j = 0; j < s; ++j) {
            const auto row = psf_.row(theta, j);
            for (int i = 0; i < s; ++i) {
                const Lane d = excess(j * s + i), h = row.at(i, slope);
                k1 += h, k2 += h * h, bx2 += slope[0] * slope[0], by2 += slope[1] * slope[1];
                sum += d, peak += d * h, moment_x += d * slope[0], moment_y += d * slope[1];
            }
        }
        const float pixels = float(s * s);
        const Lane n = (peak - sum * k1 * (1.0f / pixels)) / max(k2 - k1 * k1 * (1.0f / pixels), splat(1e-6f));
        theta[2] = max(n, splat(10.0f));
        theta[3] = (sum - theta[2] * k1) * (1.0f / pixels);
        const Lane half = splat(0.7f), r_n = 1.0f / theta[2];
        theta[0] += clamp(moment_x * r_n / max(bx2, splat(1e-9f)), -half, half);
        theta[1] += clamp(moment_y * r_n / max(by2, splat(1e-9f)), -half, half);
        return -(peak - sum * k1 * (1.0f / pixels)) * n;
    }

    /// The profile at the end of an axis that is farther from the centre.
    GLINT_INLINE Lane far_end(Lane center_px, Lane sigma_px) const {
        const Lane end = select(center_px > 0.5f * (size() - 1), splat(0.0f), splat(size() - 1.0f));
        Lane value, unused;
        AxisWalk<false>(center_px, sigma_px, end).next_at(end, value, unused, unused);
        return value;
    }

    /// Gradient and Fisher matrix at theta_: per pixel about 13 operations, the rest per row (eq. 3.3).
    GLINT_INLINE void evaluate(Score<Psf>& score) {
        if constexpr (!Psf::separable) return evaluate_by_rows(score);
        const int s = size();
        const Widths w = psf_.widths(theta_ + 4);
        Lane a[capacity], b[capacity], g[shapes ? capacity : 1], unused;
        AxisWalk<(shapes > 0)> along_x(theta_[0], w.x), along_y(theta_[1], w.y);
        GLINT_UNROLL
        for (int i = 0; i < s; ++i) along_x.next(i, a[i], b[i], shapes ? g[i] : unused);
        // SIMD: the y factors go ahead of the pixels, where they overlap best. A thread has no registers for them.
        constexpr bool ahead = lane_width > 1;
        constexpr int rows = ahead ? capacity : 1;
        Lane c[rows], e[rows], t[shapes ? rows : 1];
        Lane darkest = min(a[0], a[s - 1]);  // the profile is least in a corner
        if constexpr (ahead) {
            GLINT_UNROLL
            for (int j = 0; j < s; ++j) along_y.next(j, c[j], e[j], shapes ? t[j] : unused);
            darkest *= min(c[0], c[s - 1]);
        } else {
            darkest *= far_end(theta_[1], w.y);
        }
        least_bg_ =
            model_floor + rounding * (theta_[2] + abs(pixels_.known_least)) - pixels_.known_least - theta_[2] * darkest;
        theta_[3] = max(theta_[3], least_bg_);

        RowSums total{};
        GLINT_UNROLL_BY(rows_at_once)
        for (int j = 0; j < s; ++j) {
            PixelSums row{};
            const int at = ahead ? j : 0;
            if constexpr (!ahead) along_y.next(j, c[0], e[0], shapes ? t[0] : unused);
            const Lane nc = theta_[2] * c[at];
            const Lane base = mapped ? theta_[3] : theta_[3] + pixels_.known_scalar;
            GLINT_UNROLL
            for (int i = 0; i < s; ++i) {
                const int p = j * s + i;
                Lane mu = nc * a[i] + base;
                if constexpr (mapped) mu += known(p);
                if constexpr (weighted) {
                    const Lane q = pixels_.q(p), weight = q * reciprocal(mu);
                    row.add(pixels_.d(p) * weight - q, weight, a[i], b[i], shapes ? g[i] : unused);
                } else {
                    const Lane weight = reciprocal(mu);
                    row.add(pixels_.d(p) * weight - 1.0f, weight, a[i], b[i], shapes ? g[i] : unused);
                }
            }
            total.add(row, c[at], e[at], shapes ? t[at] : unused);
        }
        total.finish(theta_[2], w, score);
    }

    /// The same of a model that does not separate: its derivatives by N and bg are h and 1. As h may be 0 anywhere, bg alone
    /// keeps the model above its floor.
    GLINT_INLINE void evaluate_by_rows(Score<Psf>& score) {
        const int s = size();
        least_bg_ = model_floor + rounding * (theta_[2] + abs(pixels_.known_least)) - pixels_.known_least;
        theta_[3] = max(theta_[3], least_bg_);
        score = {};
        for (int j = 0; j < s; ++j) {
            const auto row = psf_.row(theta_, j);
            for (int i = 0; i < s; ++i) {
                const int p = j * s + i;
                Lane by[P], slope[2 + shapes];
                by[2] = row.at(i, slope), by[3] = splat(1.0f);
                for (int k = 0; k < 2 + shapes; ++k) by[k < 2 ? k : k + 2] = theta_[2] * slope[k];
                const Lane q = weighted ? pixels_.q(p) : splat(1.0f);
                const Lane weight = q * reciprocal(theta_[2] * by[2] + theta_[3] + known(p));
                const Lane residual = pixels_.d(p) * weight - q;
                for (int k = 0; k < P; ++k) {
                    score.gradient[k] += residual * by[k];
                    for (int m = 0; m <= k; ++m) score.fisher[packed(k, m)] += weight * by[k] * by[m];
                }
            }
        }
    }

    /// Sums over a row of w, w a, ... and r, r a, ... with w = q / mu' and r = q (d' / mu' - 1).
    struct PixelSums {
        Lane w, wa, wb, waa, wab, wbb, r, ra, rb, wg, wag, wbg, wgg, rg;

        GLINT_INLINE void add(Lane residual, Lane weight, Lane a, Lane b, Lane g) {
            const Lane weight_a = weight * a, weight_b = weight * b;
            w += weight, wa += weight_a, wb += weight_b;
            waa += weight_a * a, wab += weight_a * b, wbb += weight_b * b;
            r += residual, ra += residual * a, rb += residual * b;
            if constexpr (shapes > 0) {
                const Lane weight_g = weight * g;
                wg += weight_g, wag += weight_a * g, wbg += weight_b * g, wgg += weight_g * g;
                rg += residual * g;
            }
        }
    };

    /// Sums over the rows, with the y factors c = E, e = dE/dy, t = dE/d sigma_y; N comes in at the end.
    struct RowSums {
        Lane x, y, n, bg;                                         // gradient
        Lane xx, xy, yy, xn, yn, nn, xb, yb, nb, bb;              // Fisher matrix
        Lane gx, gy, sx, sy, nx, ny, bx, by, s1, s2, s3, ex, ey;  // with the widths

        GLINT_INLINE void add(const PixelSums& p, Lane c, Lane e, Lane t) {
            const Lane cc = c * c, ce = c * e, ca = c * p.waa, cb = c * p.wab;
            x += c * p.rb, y += e * p.ra, n += c * p.ra, bg += p.r;
            xx += cc * p.wbb, xy += ce * p.wab, yy += e * e * p.waa;
            xn += c * cb, yn += e * ca, nn += c * ca;
            xb += c * p.wb, yb += e * p.wa, nb += c * p.wa, bb += p.w;
            if constexpr (shapes > 0) {
                gx += c * p.rg, gy += t * p.ra;
                sx += cc * p.wbg, sy += t * cb;         // x with sigma_x, sigma_y
                ex += ce * p.wag, ey += e * t * p.waa;  // y
                nx += cc * p.wag, ny += t * ca;         // N
                bx += c * p.wg, by += t * p.wa;         // bg
                s1 += cc * p.wgg, s2 += c * t * p.wag, s3 += t * t * p.waa;
            }
        }

        GLINT_INLINE void finish(Lane photons, const Widths& w, Score<Psf>& out) const {
            const Lane n2 = photons * photons;
            Lane* g = out.gradient;
            Lane* f = out.fisher;
            g[0] = photons * x, g[1] = photons * y, g[2] = n, g[3] = bg;
            f[packed(0, 0)] = n2 * xx, f[packed(1, 0)] = n2 * xy, f[packed(1, 1)] = n2 * yy;
            f[packed(2, 0)] = photons * xn, f[packed(2, 1)] = photons * yn, f[packed(2, 2)] = nn;
            f[packed(3, 0)] = photons * xb, f[packed(3, 1)] = photons * yb, f[packed(3, 2)] = nb, f[packed(3, 3)] = bb;
            if constexpr (shapes == 2) {
                g[4] = photons * gx, g[5] = photons * gy;
                f[packed(4, 0)] = n2 * sx, f[packed(5, 0)] = n2 * sy;
                f[packed(4, 1)] = n2 * ex, f[packed(5, 1)] = n2 * ey;
                f[packed(4, 2)] = photons * nx, f[packed(5, 2)] = photons * ny;
                f[packed(4, 3)] = photons * bx, f[packed(5, 3)] = photons * by;
                f[packed(4, 4)] = n2 * s1, f[packed(5, 4)] = n2 * s2, f[packed(5, 5)] = n2 * s3;
            } else if constexpr (shapes == 1) {
                const Lane u = w.x_slope, v = w.y_slope;
                g[4] = photons * (u * gx + v * gy);
                f[packed(4, 0)] = n2 * (u * sx + v * sy);
                f[packed(4, 1)] = n2 * (u * ex + v * ey);
                f[packed(4, 2)] = photons * (u * nx + v * ny);
                f[packed(4, 3)] = photons * (u * bx + v * by);
                f[packed(4, 4)] = n2 * (u * u * s1 + 2.0f * u * v * s2 + v * v * s3);
            }
        }
    };

    GLINT_INLINE Interval bounds(int k) const {
        if (k < 2) return {splat(-options_.margin_px), splat(size() - 1 + options_.margin_px)};
        if (k == 2) return {splat(photons_floor), splat(1e9f)};
        if (k == 3) return {least_bg_, splat(1e9f)};
        return psf_.bounds(k - 4);
    }

    /// Takes parameters that are at a bound, and pushed outward, out of the system; returns the lanes that have one.
    GLINT_INLINE Mask hold_bounded(Score<Psf>& score) const {
        Mask held[P], any_held = all_false();
        for (int k = 0; k < P; ++k) {
            const Interval limit = bounds(k);
            held[k] = ((theta_[k] <= limit.low) & (score.gradient[k] < 0.0f)) |
                      ((theta_[k] >= limit.high) & (score.gradient[k] > 0.0f));
            any_held |= held[k];
        }
        if (!any(any_held)) return any_held;
        for (int k = 0; k < P; ++k) {
            score.gradient[k] = select(held[k], Lane{}, score.gradient[k]);
            for (int q = 0; q < P; ++q)
                if (q != k) {
                    Lane& cell = score.fisher[q < k ? packed(k, q) : packed(q, k)];
                    cell = select(held[k], Lane{}, cell);
                }
        }
        return any_held;
    }

    /// Where the last step overshot (the slope along it turned round), takes the secant's part of the next one.
    GLINT_INLINE void damp(const Score<Psf>& score, const Lane* previous, Lane previous_slope, Lane& fraction) const {
        Lane slope = Lane{};
        for (int k = 0; k < P; ++k) slope += previous[k] * score.gradient[k];
        const Mask overshot = slope < -0.25f * previous_slope;
        const Lane secant =
            clamp(previous_slope / (previous_slope - min(slope, splat(-1e-20f))), splat(0.2f), splat(1.0f));
        fraction = select(overshot, fraction * secant, min(fraction * 1.5f, splat(1.0f)));
    }

    /// The step within its limits and the bounds, in `moved`.
    GLINT_INLINE void take_step(const Lane* step, Lane fraction, Lane* moved) const {
        GLINT_UNROLL
        for (int k = 0; k < P; ++k) {
            const Lane longest = k < 2    ? splat(1.0f)
                                 : k == 2 ? 0.7f * theta_[2] + 10.0f
                                 : k == 3 ? splat(1e8f)
                                          : psf_.step_limit(k - 4, theta_ + 4);
            const Interval limit = bounds(k);
            const Lane wanted = clamp(step[k] * fraction, -longest, longest);
            moved[k] = clamp(theta_[k] + wanted, limit.low, limit.high) - theta_[k];
        }
    }
};

}  // namespace glint::GLINT_ISA
