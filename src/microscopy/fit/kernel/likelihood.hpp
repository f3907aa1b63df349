// Gradient and Fisher matrix of the log-likelihood of a separable model (theory.md, eq. 3.1 to 3.3): the kernel's
// hot loop.
//
// erf and exp are evaluated once per pixel edge of each axis (eq. 1.2). The loop over pixels contains only products and
// sums.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/kernel/fisher_sums.hpp"
#include "fit/kernel/group_fit.hpp"
#include "psf/axis.hpp"

namespace glint::GLINT_ISA {

/// Returns the profile's minimum, which is at the end of the axis farther from the centre. For a GPU thread, which does
/// not keep the whole profile.
template <class Psf, int fixed, bool mapped, bool weighted>
GLINT_INLINE Lane GroupFit<Psf, fixed, mapped, weighted>::far_end(Lane center_px, Lane width_px) const {
    const Lane end = select(center_px > 0.5f * (size() - 1), splat(0.0f), splat(size() - 1.0f));
    Lane value, unused;
    AxisProfile<false>(center_px, width_px, end).next_at(end, value, unused, unused);
    return value;
}

/// Computes gradient and Fisher matrix at theta_. Raises theta_'s bg if necessary to keep every pixel's model above the
/// floor.
template <class Psf, int fixed, bool mapped, bool weighted>
GLINT_INLINE void GroupFit<Psf, fixed, mapped, weighted>::evaluate(Derivatives<Psf>& score) {
    if constexpr (!Psf::separable) return evaluate_by_rows(score);
    const int s = size();
    const Widths w = psf_.widths(theta_ + 4);
    // The x profile of the whole ROI stays in registers (or in the first-level cache) for all rows.
    Lane a[capacity], b[capacity], g[shapes ? capacity : 1], unused;
    AxisProfile<(shapes > 0)> along_x(theta_[0], w.x), along_y(theta_[1], w.y);
    GLINT_UNROLL
    for (int i = 0; i < s; ++i) along_x.next(i, a[i], b[i], shapes ? g[i] : unused);
    // SIMD: all factors along y are computed before the pixels, as independent instructions that overlap. A GPU thread
    // lacks the registers for them and computes them row by row.
    constexpr bool ahead = lane_width > 1;
    constexpr int rows = ahead ? capacity : 1;
    Lane c[rows], e[rows], t[shapes ? rows : 1];
    Lane darkest = min(a[0], a[s - 1]);  // the profile has its minimum in a corner
    if constexpr (ahead) {
        GLINT_UNROLL
        for (int j = 0; j < s; ++j) along_y.next(j, c[j], e[j], shapes ? t[j] : unused);
        darkest *= min(c[0], c[s - 1]);
    } else {
        darkest *= far_end(theta_[1], w.y);
    }
    // mu' > 0 is the only bound on bg (section 2): a bound at bg = 0 would bias dim backgrounds. The second term covers
    // the rounding of the profiles.
    min_bg_ =
        model_floor + rounding * (theta_[2] + abs(pixels_.known_least)) - pixels_.known_least - theta_[2] * darkest;
    theta_[3] = max(theta_[3], min_bg_);

    RowSums<Psf> total{};
    GLINT_UNROLL_BY(rows_at_once)
    for (int j = 0; j < s; ++j) {
        PixelSums<shapes> row{};
        const int at = ahead ? j : 0;
        if constexpr (!ahead) along_y.next(j, c[0], e[0], shapes ? t[0] : unused);
        const Lane nc = theta_[2] * c[at];
        const Lane base = mapped ? theta_[3] : theta_[3] + pixels_.known_scalar;
        GLINT_UNROLL
        for (int i = 0; i < s; ++i) {
            const int p = j * s + i;
            // The inner loop. reciprocal() is the only division, and mu >= model_floor allows its approximation.
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
        // The pixel sums of this row are complete. The factors along y are applied now, once instead of per pixel.
        total.add(row, c[at], e[at], shapes ? t[at] : unused);
    }
    total.finish(theta_[2], w, score);
}

}  // namespace glint::GLINT_ISA
