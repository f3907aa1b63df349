// The deviance of a finished fit and its expected moments, summed over the ROI's pixels (theory.md, eq. 4.1 and
// 4.2).
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/goodness.hpp"
#include "fit/kernel/group_fit.hpp"
#include "psf/axis.hpp"

namespace glint::GLINT_ISA {

/// Adds the deviance at the solution and its moments under a correct model. One test of the whole ROI lets bright ROIs
/// skip the polynomials of dim pixels (goodness.hpp). With weights, a pixel's model is q mu', so the test does not
/// apply.
template <class Psf, int fixed, bool mapped, bool weighted>
template <PixelNoise noise>
GLINT_NOINLINE void GroupFit<Psf, fixed, mapped, weighted>::add_goodness(Goodness& sum) const {
    if (weighted || any(theta_[3] + pixels_.known_least < bright_model))
        sum_goodness<noise, false>(sum);
    else
        sum_goodness<noise, true>(sum);
}

/// Sums over the pixels. `bright`: every pixel's model is bright_model or more.
template <class Psf, int fixed, bool mapped, bool weighted>
template <PixelNoise noise, bool bright>
GLINT_INLINE void GroupFit<Psf, fixed, mapped, weighted>::sum_goodness(Goodness& sum) const {
    if constexpr (!Psf::separable) return sum_goodness_by_rows<noise, bright>(sum);
    const int s = size();
    // theta_ has moved by the last step since evaluate(), so the profiles are computed again. Only their values are
    // needed.
    const Widths w = psf_.widths(theta_ + 4);
    Lane a[capacity], unused;
    AxisProfile<false> along_x(theta_[0], w.x), along_y(theta_[1], w.y);
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
            // bg's bound is from the position before the last step, so a dim pixel's model may be below the floor.
            const Lane model = nc * a[i] + (theta_[3] + known(p));
            add_pixel<noise, bright>(sum, p, bright ? model : max(model, splat(model_floor)));
        }
    }
}

/// Adds pixel p, whose model is mu. With weights, the counts are q d' and q mu'.
template <class Psf, int fixed, bool mapped, bool weighted>
template <PixelNoise noise, bool bright>
GLINT_INLINE void GroupFit<Psf, fixed, mapped, weighted>::add_pixel(Goodness& sum, int p, Lane mu) const {
    if constexpr (weighted) {
        const Lane q = pixels_.q(p);
        GLINT_ISA::add_pixel<noise, bright>(sum, q * pixels_.d(p), q * mu, q * pixels_.v(p));
    } else {
        GLINT_ISA::add_pixel<noise, bright>(sum, pixels_.d(p), mu, pixels_.v(p));
    }
}

}  // namespace glint::GLINT_ISA
