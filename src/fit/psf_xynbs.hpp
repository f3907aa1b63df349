// GaussianXYNBS: as GaussianXYNB, with one free width.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/psf_concept.hpp"

namespace glint::GLINT_ISA {

struct GaussianXYNBS {
    static constexpr int shape_parameters = 1;
    static constexpr int start_candidates = 2;

    KernelPsf psf;

    GLINT_INLINE Widths widths(const Lane* shape) const { return {shape[0], shape[0], splat(1.0f), splat(1.0f)}; }
    GLINT_INLINE void start(int k, Lane* shape) const { shape[0] = splat(psf.sigma_px * (k == 0 ? 0.95f : 1.5f)); }
    GLINT_INLINE Interval bounds(int) const { return {splat(psf.min_sigma_px), splat(psf.max_sigma_px)}; }
    GLINT_INLINE Lane step_limit(int, const Lane* shape) const { return 0.4f * shape[0]; }
};

}  // namespace glint::GLINT_ISA
