// GaussianXYNB: position, photons and background; the width is given.
// SPDX-License-Identifier: MIT
#pragma once

#include "psf/model.hpp"

namespace glint::GLINT_ISA {

struct GaussianXYNB : ProductOfGaussians {
    static constexpr PsfFacts facts{.about = "width fixed"};
    static constexpr int start_candidates = 1;

    GLINT_INLINE Widths widths(const Lane*) const { return {splat(psf.sigma_px), splat(psf.sigma_px), Lane{}, Lane{}}; }
    GLINT_INLINE void start(int, Lane*) const {}
    GLINT_INLINE Interval bounds(int) const { return {Lane{}, Lane{}}; }
    GLINT_INLINE Lane step_limit(int, const Lane*) const { return Lane{}; }
    GLINT_INLINE void typical(Lane, Lane*) const {}
};

}  // namespace glint::GLINT_ISA
