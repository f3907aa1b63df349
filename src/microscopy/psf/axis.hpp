// The pixel-integrated Gaussian along one axis: E(i), dE/dx and dE/dsigma of each pixel (theory.md, eq. 1.2).
// SPDX-License-Identifier: MIT
#pragma once

#include "psf/special.hpp"

namespace glint::GLINT_ISA {

/// Evaluates the pixels of an axis in increasing order. Adjacent pixels share an edge, so each step evaluates erf and
/// exp only at the upper edge, both from one exponential (half_erf). The argument is v = u sqrt(log2 e), with u of eq.
/// 1.2, because the exponential is computed as a power of 2. `with_width`: dE/dsigma is needed.
template <bool with_width>
struct AxisProfile {
    Lane position, per_width, gauss_scale, width_scale;
    Lane v, half, gauss;  // at the pixel's lower edge: argument, erf(u) / 2 and exp(-u^2)

    /// Starts at pixel `first`. The scales contain the constants of eq. 1.2: 1 / sqrt(2), 1 / sqrt(2 pi) and 1 /
    /// sqrt(pi).
    GLINT_INLINE AxisProfile(Lane center_px, Lane sigma_px, Lane first = splat(0.0f)) {
        const Lane r = reciprocal(sigma_px);
        per_width = Scalar(0.7071067811865476) * sqrt_log2_e * r;
        gauss_scale = Scalar(0.3989422804014327) * r;
        width_scale = Scalar(0.5641895835477563) / sqrt_log2_e * r;
        position = 0.5f - center_px;
        v = (first - 0.5f - center_px) * per_width;
        half_erf(v, half, gauss);
    }
    /// Evaluates pixel i: E, dE/dcenter, dE/dsigma. Call it with first, first + 1, ...
    GLINT_INLINE void next(int i, Lane& value, Lane& by_center, Lane& by_sigma) {
        next_at(splat(float(i)), value, by_center, by_sigma);
    }
    GLINT_INLINE void next_at(Lane i, Lane& value, Lane& by_center, Lane& by_sigma) {
        const Lane upper = (position + i) * per_width;
        Lane upper_half, upper_gauss;
        half_erf(upper, upper_half, upper_gauss);
        value = upper_half - half;
        by_center = (gauss - upper_gauss) * gauss_scale;
        if constexpr (with_width) by_sigma = (v * gauss - upper * upper_gauss) * width_scale;
        v = upper, half = upper_half, gauss = upper_gauss;
    }
};

}  // namespace glint::GLINT_ISA
