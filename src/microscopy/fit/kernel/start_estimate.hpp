// The start values of a fit: brightest neighbourhood, then one linear least-squares step (theory.md, section 3,
// Start).
//
// The model is linear in N and bg, so at a given position and shape both have a solution in closed form. The closer the
// start, the fewer Fisher-scoring steps follow. On a GPU, a few slow fits delay a whole warp. All sums are without
// weights: a start need not be efficient, and sums without 1 / mu' are cheap.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/kernel/group_fit.hpp"
#include "psf/axis.hpp"

namespace glint::GLINT_ISA {

/// Estimates x and y from the brightest neighbourhood, and all other parameters at that position.
template <class Psf, int fixed, bool mapped, bool weighted>
GLINT_INLINE void GroupFit<Psf, fixed, mapped, weighted>::estimate_start() {
    Lane x, y;
    find_brightest(x, y);
    estimate_start(x, y);
}

/// Estimates start values at a position that is known to within a pixel. Tries every candidate shape of the model and
/// chooses the one with the least residual sum of squares.
template <class Psf, int fixed, bool mapped, bool weighted>
GLINT_INLINE void GroupFit<Psf, fixed, mapped, weighted>::estimate_start(Lane x, Lane y) {
    // Residuals have the same constant offset (the residual of a flat background), so they can be compared.
    Lane best = splat(3e38f);
    for (int k = 0; k < Psf::start_candidates; ++k) {
        Lane theta[P] = {x, y};
        psf_.start(k, theta + 4);
        // Rows need more work with slopes than without. These models therefore compare shapes first, and find the
        // position last.
        Lane residual;
        if constexpr (Psf::separable)
            residual = linear_start(theta);
        else
            residual = compare_by_rows(theta);
        const Mask better = residual < best;
        best = select(better, residual, best);
        // Always takes the first candidate: NaN does not compare as better, and theta_ must be set.
        for (int q = 0; q < P; ++q) theta_[q] = k == 0 ? theta[q] : select(better, theta[q], theta_[q]);
    }
    if constexpr (!Psf::separable) linear_start_by_rows(theta_);
}

/// Finds the centre of the brightest 3x3 neighbourhood. At the edges, border pixels count twice instead of missing
/// ones.
template <class Psf, int fixed, bool mapped, bool weighted>
GLINT_INLINE void GroupFit<Psf, fixed, mapped, weighted>::find_brightest(Lane& x, Lane& y) const {
    if constexpr (requires { psf_.spot_radius(); }) return find_middle(x, y);
    const int s = size();
    // Separable: three sums along y, then three along x, instead of nine per pixel.
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
            // The position as one float, exact for 31 x 31: one select per pixel instead of two. `>` keeps the first
            // maximum.
            where = select(sum > best, splat(float(j * s + i)), where);
            best = max(best, sum);
        }
    }
    // Divides by multiplication with 1 / s. The added half prevents rounding to a neighbouring integer.
    y = to_float(to_int((where + 0.5f) * (1.0f / float(s))));
    x = where - y * float(s);
}

/// For models whose spots may have several maxima: finds the maximum of the pixels after smoothing over a square of the
/// spot's size, which is cut at the ROI's edges.
template <class Psf, int fixed, bool mapped, bool weighted>
GLINT_INLINE void GroupFit<Psf, fixed, mapped, weighted>::find_middle(Lane& x, Lane& y) const {
    const int s = size(), radius = psf_.spot_radius() < s / 2 ? psf_.spot_radius() : s / 2;
    Lane column[capacity] = {};  // sums along y
    for (int j = 0; j < radius; ++j)
        for (int i = 0; i < s; ++i) column[i] += excess(j * s + i);
    Lane best = splat(-3e38f), where = Lane{};
    for (int j = 0; j < s; ++j) {
        Lane sum = Lane{};
        for (int i = 0; i < s; ++i) {
            if (j + radius < s) column[i] += excess((j + radius) * s + i);
            if (j > radius) column[i] -= excess((j - radius - 1) * s + i);
        }
        for (int i = 0; i < radius; ++i) sum += column[i];
        for (int i = 0; i < s; ++i) {
            if (i + radius < s) sum += column[i + radius];
            if (i > radius) sum -= column[i - radius - 1];
            where = select(sum > best, splat(float(j * s + i)), where);
            best = max(best, sum);
        }
    }
    y = to_float(to_int((where + 0.5f) * (1.0f / float(s))));
    x = where - y * float(s);
}

/// Returns d' minus the known part, up to a constant: sufficient for comparing neighbourhoods.
template <class Psf, int fixed, bool mapped, bool weighted>
GLINT_INLINE Lane GroupFit<Psf, fixed, mapped, weighted>::relative(int p) const {
    return mapped ? excess(p) : pixels_.d(p);
}

/// Returns d' minus the known part.
template <class Psf, int fixed, bool mapped, bool weighted>
GLINT_INLINE Lane GroupFit<Psf, fixed, mapped, weighted>::excess(int p) const {
    return pixels_.d(p) - known(p);
}

/// At theta's position and shape, estimates N and bg by linear least squares. Then estimates the position's offset from
/// the first moments of the data against dE. Updates theta; returns the residual sum of squares up to a constant.
template <class Psf, int fixed, bool mapped, bool weighted>
GLINT_INLINE Lane GroupFit<Psf, fixed, mapped, weighted>::linear_start(Lane* theta) const {
    const int s = size();
    const Widths w = psf_.widths(theta + 4);
    Lane ax[capacity], bx[capacity], unused;
    AxisProfile<false> along_x(theta[0], w.x), along_y(theta[1], w.y);
    Lane a1 = Lane{}, a2 = Lane{}, b2 = Lane{};
    GLINT_UNROLL
    for (int i = 0; i < s; ++i) {
        along_x.next(i, ax[i], bx[i], unused);
        a1 += ax[i], a2 += ax[i] * ax[i], b2 += bx[i] * bx[i];
    }
    // As in likelihood.hpp, a pixel adds only to the sums of its row; the factors along y are applied once per row.
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
    // Normal equations of the fit of N h + bg to the data, with h = Ex Ey; k1 and k2 are the sums of h and h^2.
    const float pixels = float(s * s);
    const Lane k1 = a1 * c1, k2 = a2 * c2;
    // The denominator is the variance of h over the pixels. It is 0 for a flat model, as at a position far outside.
    const Lane n = (peak - sum * k1 * (1.0f / pixels)) / max(k2 - k1 * k1 * (1.0f / pixels), splat(1e-6f));
    // At least 10 photons: an empty ROI starts with a spot that the iteration can still move and shrink.
    theta[2] = max(n, splat(10.0f));
    theta[3] = (sum - theta[2] * k1) * (1.0f / pixels);
    // Limits the offset to 0.7 px, because the first moments of a spot with another shape would shift it too far.
    const Lane half = splat(0.7f), r_n = 1.0f / theta[2];
    theta[0] += clamp(moment_x * r_n / max(b2 * c2, splat(1e-9f)), -half, half);
    theta[1] += clamp(moment_y * r_n / max(a2 * e2, splat(1e-9f)), -half, half);
    // The squares that N and bg explain, with negative sign. The shape that explains more has a smaller residual.
    return -(peak - sum * k1 * (1.0f / pixels)) * n;
}

}  // namespace glint::GLINT_ISA
