// Goodness of fit: the deviance, its expected mean and variance, and the p value (theory.md, section 4).
//
// A chi-squared distribution holds at high counts only, so E and V of eq. 4.2 are evaluated for each pixel as
// polynomials in t = 1 / (1 + mu') and, with read noise, s = sqrt(v / f^2 / mu') (deviance_moments.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/deviance_moments.hpp"
#include "psf/special.hpp"

namespace glint::GLINT_ISA {

/// The distribution of the pixels under a correct model; selects the table of moments: Poisson, Poisson with read
/// noise, or with an EM register.
enum class PixelNoise { ideal, poisson, multiplied };

/// Sums over the pixels of a ROI. `mean` and `variance` are sums of E - 1 and V - 2, the differences from chi-squared
/// with one degree of freedom; p_value() adds these again.
struct Goodness {
    Lane half_deviance = Lane{};  // -LLR (eq. 4.1)
    Lane mean = Lane{};
    Lane variance = Lane{};
};

/// Returns sum c[i] t^(i+1), by Horner's method.
template <int T>
GLINT_INLINE Lane polynomial(const float (&c)[T], Lane t) {
    Lane sum = splat(c[T - 1]);
    GLINT_UNROLL
    for (int i = T - 2; i >= 0; --i) sum = sum * t + c[i];
    return sum * t;
}

/// Returns sum c[i][j] t^(i+1) s^j.
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

/// Adds E - 1 and V - 2 of one pixel. Bright pixels need fewer terms. The longer polynomials for dim pixels are
/// evaluated only if any lane needs them; adjacent pixels of a group tend to be dim together. `rounded`: prevents
/// contraction by the compiler, so that a lane's result does not depend on the branch that other lanes require.
/// `all_bright`: known at compile time that no lane is dim.
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

/// Adds one pixel with data d', model m = mu' > 0 and read variance v / f^2. `all_bright`: m >= bright_model.
/// Half the deviance is m (u log u - u + 1) with u = d' / m = 1 + q, which does not cancel for bright spots (eq. 4.1).
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

/// Returns p = Q(M^2 / s2, -2 LLR M / s2) (eq. 4.2). The deviance's distribution is approximated by a scaled
/// chi-squared (a gamma) distribution with the same mean and variance. The fit of k parameters removes k from the mean
/// and 2 k from the variance.
GLINT_INLINE Lane p_value(const Goodness& sum, float pixels, float parameters) {
    const Lane mean = max(sum.mean + (pixels - parameters), splat(0.25f));
    const Lane variance = max(sum.variance + (2 * pixels - 2 * parameters), splat(0.5f));
    const Lane scale = mean / variance;
    return upper_gamma(max(mean * scale, splat(0.1f)), 2.0f * sum.half_deviance * scale);
}

}  // namespace glint::GLINT_ISA
