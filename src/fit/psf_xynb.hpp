// GaussianXYNB: position, photons and background; the width is given.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/psf_concept.hpp"

namespace glint::GLINT_ISA {

struct GaussianXYNB {
    static constexpr int shape_parameters = 0;
    static constexpr int start_candidates = 1;

    KernelPsf psf;

    GLINT_INLINE Widths widths(const Lane*) const { return {splat(psf.sigma_px), splat(psf.sigma_px), Lane{}, Lane{}}; }
    GLINT_INLINE void start(int, Lane*) const {}
    GLINT_INLINE Interval bounds(int) const { return {Lane{}, Lane{}}; }
    GLINT_INLINE Lane step_limit(int, const Lane*) const { return Lane{}; }
};

}  // namespace glint::GLINT_ISA
