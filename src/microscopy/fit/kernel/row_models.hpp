// The steps of the kernel, row by row, for PSF models that are not a product of Gaussians along x and y (psf/model.hpp,
// AnyShape).
//
// Nothing can be moved out of the loop over pixels. Each pixel evaluates the model and adds P (P + 1) / 2 products to
// the Fisher matrix.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/kernel/group_fit.hpp"

namespace glint::GLINT_ISA {

/// Returns the residual of `linear_start` at theta's position and shape.
template <class Psf, int fixed, bool mapped, bool weighted>
GLINT_INLINE Lane GroupFit<Psf, fixed, mapped, weighted>::compare_by_rows(const Lane* theta) const {
    const int s = size();
    Lane k1 = Lane{}, k2 = Lane{}, sum = Lane{}, peak = Lane{}, unused_slopes[2 + shapes];
    auto rows = rows_from_top<false>(psf_, theta, s);
    for (int j = 0; j < s; ++j) {
        auto row = rows.next(j);
        for (int i = 0; i < s; ++i) {
            const Lane d = excess(j * s + i), h = row.at(i, unused_slopes);
            k1 += h, k2 += h * h, sum += d, peak += d * h;
        }
    }
    const Lane flat = (1.0f / float(s * s)) * k1, difference = peak - sum * flat;
    return -difference * (difference / max(k2 - k1 * flat, splat(1e-6f)));
}

/// Estimates N, bg and the offset of the position, as `linear_start` does.
template <class Psf, int fixed, bool mapped, bool weighted>
GLINT_INLINE void GroupFit<Psf, fixed, mapped, weighted>::linear_start_by_rows(Lane* theta) const {
    const int s = size();
    Lane k1 = Lane{}, k2 = Lane{}, bx2 = Lane{}, by2 = Lane{};
    Lane sum = Lane{}, peak = Lane{}, moment_x = Lane{}, moment_y = Lane{}, slope[2 + shapes];
    auto rows = rows_from_top<true>(psf_, theta, s);
    for (int j = 0; j < s; ++j) {
        auto row = rows.next(j);
        for (int i = 0; i < s; ++i) {
            const Lane d = excess(j * s + i), h = row.at(i, slope);
            // The slopes are those of h without N, because N is not known yet.
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
}

/// Computes gradient and Fisher matrix, like `evaluate`. The derivatives by N and bg are h and 1. Since h may be 0
/// anywhere, only bg keeps the model above its floor.
template <class Psf, int fixed, bool mapped, bool weighted>
GLINT_INLINE void GroupFit<Psf, fixed, mapped, weighted>::evaluate_by_rows(Derivatives<Psf>& score) {
    const int s = size();
    min_bg_ = model_floor + rounding * (theta_[2] + abs(pixels_.known_least)) - pixels_.known_least;
    theta_[3] = max(theta_[3], min_bg_);
    score = {};
    auto rows = rows_from_top<true>(psf_, theta_, s);
    for (int j = 0; j < s; ++j) {
        auto row = rows.next(j);
        for (int i = 0; i < s; ++i) {
            const int p = j * s + i;
            Lane by[P], slope[2 + shapes];
            by[2] = row.at(i, slope), by[3] = splat(1.0f);
            // The model returns derivatives by x, y and the shape; N and bg are between them in theta.
            for (int k = 0; k < 2 + shapes; ++k) by[k < 2 ? k : k + 2] = theta_[2] * slope[k];
            const Lane q = weighted ? pixels_.q(p) : splat(1.0f);
            const Lane weight = q * reciprocal(theta_[2] * by[2] + theta_[3] + known(p));
            const Lane residual = pixels_.d(p) * weight - q;
            for (int k = 0; k < P; ++k) {
                score.gradient[k] += residual * by[k];
                // The lower triangle only: the matrix is symmetric.
                for (int m = 0; m <= k; ++m) score.fisher[packed(k, m)] += weight * by[k] * by[m];
            }
        }
    }
}

/// Sums the deviance and its moments, as `sum_goodness` does.
template <class Psf, int fixed, bool mapped, bool weighted>
template <PixelNoise noise, bool bright>
GLINT_INLINE void GroupFit<Psf, fixed, mapped, weighted>::sum_goodness_by_rows(Goodness& sum) const {
    const int s = size();
    Lane unused_slopes[2 + shapes];
    auto rows = rows_from_top<false>(psf_, theta_, s);
    for (int j = 0; j < s; ++j) {
        auto row = rows.next(j);
        for (int i = 0; i < s; ++i) {
            const int p = j * s + i;
            const Lane mu = max(theta_[2] * row.at(i, unused_slopes) + theta_[3] + known(p), splat(model_floor));
            add_pixel<noise, bright>(sum, p, mu);
        }
    }
}

}  // namespace glint::GLINT_ISA
