// The per-pixel arithmetic of detection: filter sums, the score, the test for a maximum, clipping (theory.md, section
// 5). One source for every instruction set and for GPU kernels, each in its own namespace (GLINT_ISA).
// SPDX-License-Identifier: MIT
#pragma once

#include "detect/portable.hpp"

namespace glint::GLINT_ISA {

/// Convolution with a symmetric kernel along a row. `taps` start at the centre. Symmetric values are added first, which
/// halves the number of products. R: the radius if it is known at compile time, so that the loop unrolls; else 0.
template <int R>
GLINT_PORTABLE float across(const float* sums, const float* taps, int runtime_radius) {
    const int radius = R ? R : runtime_radius;
    float sum = taps[0] * sums[0];
    GLINT_UNROLL
    for (int i = 1; i <= radius; ++i) sum += taps[i] * (sums[-i] + sums[i]);
    return sum;
}

/// The same with all taps 1: the unweighted sum, Q' of eq. 5.6.
template <int R>
GLINT_PORTABLE float box_across(const float* sums, int runtime_radius) {
    const int radius = R ? R : runtime_radius;
    float sum = sums[0];
    GLINT_UNROLL
    for (int i = 1; i <= radius; ++i) sum += sums[-i] + sums[i];
    return sum;
}

/// Sums along a column: with the wide kernel, unweighted, and with a third kernel (narrow or squared).
template <class Value>
struct DownSums {
    Value wide, box, third;
};

/// Computes all three column sums in one pass. `at(i)`: the value i rows from the centre, or the values of as many
/// columns as a SIMD register has elements.
template <int R, class At, class Tap>
GLINT_PORTABLE auto down(At at, const Tap* taps, const Tap* third_taps, int runtime_radius, int third_radius) {
    const int radius = R ? R : runtime_radius;
    const auto here = at(0);
    auto wide = taps[0] * here, box = here, third = third_taps[0] * here;
    GLINT_UNROLL
    for (int i = 1; i <= radius; ++i) {
        const auto pair = at(-i) + at(i);
        wide += taps[i] * pair;
        box += pair;
        if (i <= third_radius) third += third_taps[i] * pair;
    }
    return DownSums<decltype(box)>{wide, box, third};
}

/// Eq. 5.6: (P' - A'/B' Q') over its standard deviation. `box_ratio`, `norm`, `inverse_noise`: see UniformNorms.
GLINT_PORTABLE float uniform_score(float signal, float flat, float box_ratio, float norm, float inverse_noise) {
    return (signal - box_ratio * flat) * (norm * inverse_noise);
}

/// Eq. 5.5 from the sums A, B, C, P, Q of eq. 5.3. 0 if spot and background are indistinguishable in a clipped window.
GLINT_PORTABLE float weighted_score(float a, float b, float c, float p, float q) {
    const float ratio = a / b, information = c - a * ratio;
    return information > 1e-4f * c ? (p - ratio * q) / __builtin_sqrtf(information) : 0.0f;
}

/// The weight 1 / (f bg + v) of eq. 5.2, with a minimum variance.
GLINT_PORTABLE float weight(float shot_noise, float variance, float min_variance) {
    const float sum = shot_noise + variance;
    return 1.0f / (sum > min_variance ? sum : min_variance);
}

/// Returns true if column x is the maximum of its 3x3 neighbourhood. Of equal values, only the first in row order
/// counts, so that each plateau gives one maximum.
GLINT_PORTABLE bool is_maximum(const float* above, const float* here, const float* below, int x) {
    const float v = here[x];
    return (v > above[x - 1]) & (v > above[x]) & (v > above[x + 1]) & (v > here[x - 1]) & (v >= here[x + 1]) &
           (v >= below[x - 1]) & (v >= below[x]) & (v >= below[x + 1]);
}

/// Tests whether a pixel counts as background: at most m + 3 sqrt(f m + v) + 2 f (eq. 5.8). Three versions:
/// - for uniform noise, where the limit is one number,
/// - with a map of read noise,
/// - with an additional map of the quantum efficiency q.
///
/// The last two compare squares, which saves the root.
struct BelowLimit {
    float limit;
    template <class T>
    GLINT_PORTABLE auto keep(T pixel, T, T) const {
        return pixel <= limit;
    }
};
struct BelowOwnLimit {
    float top, shot_noise;  ///< mean + 2 f, f mean
    template <class T>
    GLINT_PORTABLE auto keep(T pixel, T variance, T) const {
        const T over = pixel - top;
        return (over <= 0.0f) | (over * over <= 9.0f * (variance + shot_noise));
    }
};
struct BelowOwnLimitByQe {
    float mean, excess_noise, shot_noise;
    template <class T>
    GLINT_PORTABLE auto keep(T pixel, T variance, T qe) const {
        const T over = (pixel - mean) * qe - 2 * excess_noise;
        return (over <= 0.0f) | (over * over <= 9.0f * qe * (variance * qe + shot_noise));
    }
};
GLINT_PORTABLE BelowOwnLimit own_limit(float mean, float shot_noise) {
    return {mean + 2 * shot_noise, mean > 0 ? shot_noise * mean : 0.0f};
}
GLINT_PORTABLE BelowOwnLimitByQe own_limit_by_qe(float mean, float excess_noise) {
    return {mean, excess_noise, mean > 0 ? excess_noise * mean : 0.0f};
}
GLINT_PORTABLE BelowLimit one_limit(float mean, float shot_noise, float variance) {
    const BelowOwnLimit own = own_limit(mean, shot_noise);
    return {own.top + 3 * __builtin_sqrtf(own.shot_noise + variance)};
}

}  // namespace glint::GLINT_ISA
