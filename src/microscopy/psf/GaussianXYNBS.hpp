// GaussianXYNBS: as GaussianXYNB, with one free width.
// SPDX-License-Identifier: MIT
#pragma once

#include "psf/model.hpp"

namespace glint::GLINT_ISA {

struct GaussianXYNBS : ProductOfGaussians {
    static constexpr PsfFacts facts{.about = "one free width", .shape = {{"sigma", "px", PsfColumn::width}}};
    static constexpr int start_candidates = 2;

    GLINT_INLINE Widths widths(const Lane* shape) const { return {shape[0], shape[0], splat(1.0f), splat(1.0f)}; }
    GLINT_INLINE void start(int k, Lane* shape) const { shape[0] = splat(psf.sigma_px * (k == 0 ? 0.95f : 1.5f)); }
    GLINT_INLINE Interval bounds(int) const { return {splat(psf.min_sigma_px), splat(psf.max_sigma_px)}; }
    GLINT_INLINE Lane step_limit(int, const Lane* shape) const { return 0.4f * shape[0]; }
    GLINT_INLINE void typical(Lane, Lane* shape) const { shape[0] = splat(psf.sigma_px); }
};

}  // namespace glint::GLINT_ISA
