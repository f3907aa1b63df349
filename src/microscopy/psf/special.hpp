// The kernel's special functions for any Lane: 2^x, log1p, the deviance, erf and exp at pixel edges, the upper
// incomplete gamma function. With a double Lane, those of the C library.
// SPDX-License-Identifier: MIT
#pragma once

#include "psf/lane.hpp"

namespace glint::GLINT_ISA {

constexpr Scalar sqrt_log2_e = Scalar(1.2011224087864498);

#if defined(GLINT_DOUBLE_LANE)

GLINT_INLINE Lane exp2_negative(Lane x) { return __builtin_exp2(x); }
GLINT_INLINE Lane log1p(Lane q) { return __builtin_log1p(q); }
GLINT_INLINE void half_erf(Lane v, Lane& half, Lane& gauss) {
    const Lane u = v / sqrt_log2_e;
    half = 0.5 * __builtin_erf(u), gauss = __builtin_exp(-u * u);
}

#else

/// 2^x for x in [-126, 0]; below, the result for -126. Computed as the nearest integer power of 2, times a polynomial
/// of degree 6 for the rest (Cephes; relative error 2e-7). On a GPU, one instruction.
GLINT_INLINE Lane exp2_negative(Lane x) {
#if defined(__CUDACC__)
    Lane power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
#else
    x = max(x, splat(-126.0f));
    const IntLane k = to_int(x - 0.5f);
    const Lane r = x - to_float(k);
    Lane p = splat(1.535336188e-4f);
    p = p * r + 1.339887440e-3f;
    p = p * r + 9.618437357e-3f;
    p = p * r + 5.550332471e-2f;
    p = p * r + 2.402264791e-1f;
    p = p * r + 6.931472029e-1f;
    p = p * r + 1.0f;
    return p * lane_of((k + 127) << 23);
#endif
}

/// log(1 + q) for q > -1, accurate also for small q. Reduces the mantissa to [0.7, 1.4] and evaluates a polynomial of
/// degree 9 (Cephes).
GLINT_INLINE Lane log1p(Lane q) {
    const Lane u = max(q + 1.0f, splat(1e-30f));
    const IntLane bits = bits_of(u) - 0x3f3504f3;  // sqrt(1/2)
    const IntLane k = bits >> 23;
    const Lane mantissa = lane_of((bits & 0x007fffff) + 0x3f3504f3);
    const Lane f = select(k == 0, q, mantissa - 1.0f);  // k = 0: u - 1 would lose q's low bits
    Lane p = splat(7.0376836292e-2f);
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    const Lane f2 = f * f;
    const Lane kf = to_float(k);
    return f + (p * f * f2 - 0.5f * f2 + kf * -2.12194440e-4f) + kf * 0.693359375f;
}

/// u log u - (u - 1) with u = 1 + q >= 0: half the deviance of d = u m, divided by m (eq. 4.1); accurate near u = 1.
GLINT_INLINE Lane deviance_term(Lane u, Lane q) {
#if defined(__CUDACC__)
    // The GPU's log2 has an absolute error of 2e-7, which suffices from |q| = 0.05 on; below, uses the series to q^5.
    float log2;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(log2) : "f"(max(u, 1e-30f)));
    const float series = ((q * (-1.0f / 20) + 1.0f / 12) * q - 1.0f / 6) * q + 0.5f;
    return abs(q) < 0.05f ? series * (q * q) : u * (log2 * 0.693147181f) - q;
#else
    return u * log1p(q) - q;
#endif
}

/// erf(u) / 2 and exp(-u^2) at v = u sqrt(log2 e), from one power of 2 (Abramowitz and Stegun 7.1.26, |error| <
/// 1.5e-7).
GLINT_INLINE void half_erf(Lane v, Lane& half, Lane& gauss) {
    const Lane t = reciprocal(abs(v) * (0.3275911f / sqrt_log2_e) + 1.0f);
    gauss = exp2_negative(-v * v);
    Lane p = splat(0.5f * 1.061405429f);
    p = p * t - 0.5f * 1.453152027f;
    p = p * t + 0.5f * 1.421413741f;
    p = p * t - 0.5f * 0.284496736f;
    p = p * t + 0.5f * 0.254829592f;
    half = copy_sign(0.5f - p * t * gauss, v);
}

/// Q(a, x), the regularised upper incomplete gamma function, for a >= 1 and x >= 0: Temme's uniform expansion (DLMF
/// 8.12.8) with two terms; absolute error below 1e-3 at a = 1, 1e-5 from a = 5 on.
GLINT_INLINE Lane upper_gamma(Lane a, Lane x) {
    const Lane r_a = reciprocal(a);
    const Lane mu = max(x * r_a - 1.0f, splat(-0.9999999f));  // lambda - 1
    const Lane eta = copy_sign(sqrt(max(2.0f * (mu - log1p(mu)), splat(0.0f))), mu);
    Lane half, gauss;
    half_erf(eta * sqrt((0.5f * sqrt_log2_e * sqrt_log2_e) * a), half, gauss);
    Lane c0 = splat(-2.185448511e-6f), c1 = splat(7.649160916e-6f);
    c0 = c0 * eta + 3.919263179e-5f, c1 = c1 * eta - 1.809855033e-5f;
    c0 = c0 * eta - 1.78755144e-4f, c1 = c1 * eta - 4.01877572e-7f;
    c0 = c0 * eta + 3.527336861e-4f, c1 = c1 * eta + 2.057613169e-4f;
    c0 = c0 * eta + 1.157407407e-3f, c1 = c1 * eta - 9.902263374e-4f;
    c0 = c0 * eta - 1.481481481e-2f, c1 = c1 * eta + 2.645502646e-3f;
    c0 = c0 * eta + 8.333333333e-2f, c1 = c1 * eta - 3.472222222e-3f;
    c0 = c0 * eta - 3.333333333e-1f, c1 = c1 * eta - 1.851851852e-3f;
    // Near eta = 0, the definitions of c0 and c1 suffer from cancellation, so the series are used there.
    const Mask far = abs(eta) > 1.0f;
    const Lane r_eta = 1.0f / select(far, eta, splat(1.0f));
    const Lane r_mu = 1.0f / select(far, mu, splat(1.0f));
    c0 = select(far, r_mu - r_eta, c0);
    c1 = select(far, r_eta * r_eta * r_eta - r_mu * (r_mu * (r_mu + 1.0f) + 1.0f / 12), c1);
    const Lane q = 0.5f - half + gauss * sqrt(r_a * 0.159154943f) * (c0 + c1 * r_a);
    return clamp(q, splat(0.0f), splat(1.0f));
}

#endif  // GLINT_DOUBLE_LANE

}  // namespace glint::GLINT_ISA
