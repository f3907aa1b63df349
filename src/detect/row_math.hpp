// What one pixel of a row costs: sums along taps, the score, the test for a maximum. Written once for every instruction
// set and for the GPU's kernels, each in a namespace of its own (GLINT_ISA); docs/theory.md, section 5.
// SPDX-License-Identifier: MIT
#pragma once

#include "detect/portable.hpp"

namespace glint::GLINT_ISA {

/// Sum over an even kernel of taps, from the centre outwards, along values that lie next to each other. R: its radius
/// where that is known at compile time, else 0.
template <int R>
GLINT_PORTABLE float across(const float* sums, const float* taps, int runtime_radius) {
    const int radius = R ? R : runtime_radius;
    float sum = taps[0] * sums[0];
    GLINT_UNROLL
    for (int i = 1; i <= radius; ++i) sum += taps[i] * (sums[-i] + sums[i]);
    return sum;
}

template <int R>
GLINT_PORTABLE float box_across(const float* sums, int runtime_radius) {
    const int radius = R ? R : runtime_radius;
    float sum = sums[0];
    GLINT_UNROLL
    for (int i = 1; i <= radius; ++i) sum += sums[-i] + sums[i];
    return sum;
}

/// Sums down a column of values: with the wide kernel, unweighted, and with a third one.
struct DownSums {
    float wide, box, third;
};

/// `at(i)`: the value i rows from the centre.
template <int R, class At>
GLINT_PORTABLE DownSums down(At at, const float* taps, const float* third_taps, int runtime_radius, int third_radius) {
    const int radius = R ? R : runtime_radius;
    const float here = at(0);
    DownSums sums{taps[0] * here, here, third_taps[0] * here};
    GLINT_UNROLL
    for (int i = 1; i <= radius; ++i) {
        const float pair = at(-i) + at(i);
        sums.wide += taps[i] * pair;
        sums.box += pair;
        if (i <= third_radius) sums.third += third_taps[i] * pair;
    }
    return sums;
}

/// Eq. 5.6, with what UniformNorms has for this pixel.
GLINT_PORTABLE float uniform_score(float signal, float flat, float box_ratio, float norm, float inverse_sigma) {
    return (signal - box_ratio * flat) * (norm * inverse_sigma);
}

/// Eq. 5.5: sums of w times the wide kernel, 1 and the kernel squared, and of w e times the kernel and 1.
GLINT_PORTABLE float weighted_score(float a, float b, float c, float p, float q) {
    const float ratio = a / b, information = c - a * ratio;
    return information > 1e-4f * c ? (p - ratio * q) / __builtin_sqrtf(information) : 0.0f;
}

/// 1 / (f bg + v), but not for a variance below the least one.
GLINT_PORTABLE float weight(float shot_noise, float variance, float least_variance) {
    const float sum = shot_noise + variance;
    return 1.0f / (sum > least_variance ? sum : least_variance);
}

/// Whether column x is the maximum of its 3x3 neighbourhood; of equals, the first.
GLINT_PORTABLE bool is_maximum(const float* above, const float* here, const float* below, int x) {
    const float v = here[x];
    return (v > above[x - 1]) & (v > above[x]) & (v > above[x + 1]) & (v > here[x - 1]) & (v >= here[x + 1]) &
           (v >= below[x - 1]) & (v >= below[x]) & (v >= below[x + 1]);
}

/// Whether a pixel counts as background around a mean: not more than three standard deviations and 2 F^2 above. Where
/// all pixels have the same noise, where each has its own, and where each has its own quantum efficiency q too.
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
