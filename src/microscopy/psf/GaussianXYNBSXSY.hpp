// GaussianXYNBSXSY: as GaussianXYNB, with a free width along each axis.
// SPDX-License-Identifier: MIT
#pragma once

#include "psf/model.hpp"

namespace glint::GLINT_ISA {

struct GaussianXYNBSXSY : ProductOfGaussians {
    static constexpr PsfFacts facts{
        .about = "two free widths",
        .shape = {{"sigma_x", "px", PsfColumn::width_x}, {"sigma_y", "px", PsfColumn::width_y}}};
    static constexpr int start_candidates = 2;

    GLINT_INLINE Widths widths(const Lane* shape) const { return {shape[0], shape[1], Lane{}, Lane{}}; }
    GLINT_INLINE void start(int k, Lane* shape) const {
        shape[0] = shape[1] = splat(psf.sigma_px * (k == 0 ? 0.95f : 1.5f));
    }
    GLINT_INLINE Interval bounds(int) const { return {splat(psf.min_sigma_px), splat(psf.max_sigma_px)}; }
    GLINT_INLINE Lane step_limit(int k, const Lane* shape) const { return 0.4f * shape[k]; }
    GLINT_INLINE void typical(Lane, Lane* shape) const { shape[0] = shape[1] = splat(psf.sigma_px); }
};

}  // namespace glint::GLINT_ISA
