// CorrelatedXYNBR: a Gaussian with axes along the diagonals and a free correlation r of x and y. A model for tests of
// the row path (`AnyShape`), since it is not a product of Gaussians along x and y. Sampled at pixel centres, not
// integrated.
// SPDX-License-Identifier: MIT
#pragma once

#include "psf/model.hpp"
#include "psf/special.hpp"

namespace glint::GLINT_ISA {

struct CorrelatedXYNBR : AnyShape {
    static constexpr PsfFacts facts{.about = "the correlation of x and y", .shape = {{"r", ""}}};
    static constexpr int start_candidates = 3;

    GLINT_INLINE Widths widths(const Lane*) const { return {splat(psf.sigma_px), splat(psf.sigma_px), Lane{}, Lane{}}; }
    /// Twice the extent of the ellipse, so that a test can check that the model's own extent is used.
    GLINT_INLINE Widths extent(const Lane* shape, PsfPart part) const {
        const Widths w = widths(shape);
        const Scalar times = Scalar(2 * gaussian_extent(part));
        return {times * w.x, times * w.y, Lane{}, Lane{}};
    }
    GLINT_INLINE void start(int k, Lane* shape) const { shape[0] = splat(0.5f * float(k - 1)); }
    GLINT_INLINE Interval bounds(int) const { return {splat(-0.9f), splat(0.9f)}; }
    GLINT_INLINE Lane step_limit(int, const Lane*) const { return splat(0.3f); }
    GLINT_INLINE void typical(Lane, Lane* shape) const { shape[0] = splat(0.4f); }

    /// h = exp(-Q / 2) / (2 pi sigma^2 sqrt(1 - r^2)) with Q = (dx^2 - 2 r dx dy + dy^2) / (sigma^2 (1 - r^2)).
    struct Row {
        Lane x, dy, r, spread, per_area, left;  // left: 1 - r^2

        GLINT_INLINE Lane at(int i, Lane* slopes) const {
            const Lane dx = float(i) - x, square = (dx * dx - 2.0f * r * dx * dy + dy * dy) * spread;
            const Lane h = per_area * exp2_negative(square * Scalar(-0.7213475204444817));  // log2(e) / 2
            slopes[0] = h * spread * (dx - r * dy);
            slopes[1] = h * spread * (dy - r * dx);
            slopes[2] = h * (spread * dx * dy + r * (1.0f - square) / left);
            return h;
        }
    };
    GLINT_INLINE Row row(const Lane* theta, int j) const {
        const Lane r = theta[4], left = 1.0f - r * r;
        const Lane spread = 1.0f / (psf.sigma_px * psf.sigma_px * left);
        return {theta[0], float(j) - theta[1], r, spread, spread * sqrt(left) * Scalar(0.15915494309189535), left};
    }
};

}  // namespace glint::GLINT_ISA
