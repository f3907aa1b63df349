// How well a model explains the pixels: deviance, its expected mean and variance, and the p value (docs/theory.md, 4).
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/deviance_moments.hpp"
#include "psf/special.hpp"

namespace glint::GLINT_ISA {

/// Which distribution the pixels have under a right model.
enum class PixelNoise { ideal, poisson, multiplied };

/// Sums over the pixels of a ROI.
struct Goodness {
    Lane half_deviance = Lane{};  // -LLR
    Lane mean = Lane{};           // of the deviance
    Lane variance = Lane{};
};

template <int T>
GLINT_INLINE Lane polynomial(const float (&c)[T], Lane t) {
    Lane sum = splat(c[T - 1]);
    GLINT_UNROLL
    for (int i = T - 2; i >= 0; --i) sum = sum * t + c[i];
    return sum * t;
}

template <int T, int S>
GLINT_INLINE Lane polynomial(const float (&c)[T][S], Lane t, Lane s) {
    Lane sum = Lane{};
    GLINT_UNROLL
    for (int i = T - 1; i >= 0; --i) {
        Lane term = splat(c[i][S - 1]);
        GLINT_UNROLL
        for (int j = S - 2; j >= 0; --j) term = term * s + c[i][j];
        sum = sum * t + term;
    }
    return sum * t;
}

/// A bright pixel needs few terms, a dim one more; pixels are dim in groups. `all_bright`: known beforehand.
template <bool all_bright, class Bright, class Full>
GLINT_INLINE void add_moments(Goodness& sum, Lane m, Bright bright, Full full) {
    Lane mean, variance;
    bright(mean, variance);
    const Mask dim = m < bright_model;
    if (!all_bright && any(dim)) {
        Lane dim_mean, dim_variance;
        full(dim_mean, dim_variance);
        mean = select(dim, dim_mean, mean), variance = select(dim, dim_variance, variance);
    }
    sum.mean += rounded(mean), sum.variance += rounded(variance);
}

/// Adds one pixel: d', its model m > 0, and the read variance v / F^4 in it. `all_bright`: m is bright_model or more.
template <PixelNoise noise, bool all_bright>
GLINT_INLINE void add_pixel(Goodness& sum, Lane d, Lane m, Lane v) {
    const Lane r_m = reciprocal(m), q = (d - m) * r_m;
    sum.half_deviance += m * deviance_term(lane_width > 1 ? q + 1.0f : d * r_m, q);
    const Lane t = reciprocal(m + 1.0f);
    const auto set = [&](const auto& mean_table, const auto& variance_table, auto... s) {
        return [&mean_table, &variance_table, t, s...](Lane& mean, Lane& variance) {
            mean = polynomial(mean_table, t, s...), variance = polynomial(variance_table, t, s...);
        };
    };
    if constexpr (noise == PixelNoise::ideal) {
        add_moments<all_bright>(sum, m, set(ideal_mean_bright, ideal_variance_bright), set(ideal_mean, ideal_variance));
    } else {
        const Lane s = sqrt(min(v * r_m, splat(1.0f)));
        if constexpr (noise == PixelNoise::multiplied)
            add_moments<all_bright>(sum, m, set(multiplied_mean_bright, multiplied_variance_bright, s),
                                    set(multiplied_mean, multiplied_variance, s));
        else
            add_moments<all_bright>(sum, m, set(poisson_mean_bright, poisson_variance_bright, s),
                                    set(poisson_mean, poisson_variance, s));
    }
}

/// p = Q(M^2 / s2, -2 LLR M / s2): the deviance's distribution as a scaled chi-squared of its own mean and variance.
GLINT_INLINE Lane p_value(const Goodness& sum, float pixels, float parameters) {
    const Lane mean = max(sum.mean + (pixels - parameters), splat(0.25f));
    const Lane variance = max(sum.variance + (2 * pixels - 2 * parameters), splat(0.5f));
    const Lane scale = mean / variance;
    return upper_gamma(max(mean * scale, splat(0.1f)), 2.0f * sum.half_deviance * scale);
}

}  // namespace glint::GLINT_ISA
