// GaussianXYNBSXSY: as GaussianXYNB, with a free width along each axis.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/psf_concept.hpp"

namespace glint::GLINT_ISA {

struct GaussianXYNBSXSY {
    static constexpr int shape_parameters = 2;
    static constexpr int start_candidates = 2;

    KernelPsf psf;

    GLINT_INLINE Widths widths(const Lane* shape) const { return {shape[0], shape[1], Lane{}, Lane{}}; }
    GLINT_INLINE void start(int k, Lane* shape) const {
        shape[0] = shape[1] = splat(psf.sigma_px * (k == 0 ? 0.95f : 1.5f));
    }
    GLINT_INLINE Interval bounds(int) const { return {splat(psf.min_sigma_px), splat(psf.max_sigma_px)}; }
    GLINT_INLINE Lane step_limit(int k, const Lane* shape) const { return 0.4f * shape[k]; }
};

}  // namespace glint::GLINT_ISA
