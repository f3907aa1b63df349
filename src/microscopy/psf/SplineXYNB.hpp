// SplineXYNB: position, photons and background by a measured PSF that does not depend on z.
// SPDX-License-Identifier: MIT
#pragma once

#include "psf/measured_spline.hpp"

namespace glint::GLINT_ISA {

struct SplineXYNB : MeasuredSpline<1> {
    static constexpr PsfFacts facts{.about = "a measured PSF",
                                    .source = PsfSource::table,
                                    .max_edges = {1, 1000, 1000, 1},  // of Place
                                    .min_edges = {1, 4, 4, 1}};
    static constexpr int start_candidates = 1;

    GLINT_INLINE void start(int, Lane*) const {}
    GLINT_INLINE Interval bounds(int) const { return {Lane{}, Lane{}}; }
    GLINT_INLINE Lane step_limit(int, const Lane*) const { return Lane{}; }
    GLINT_INLINE void typical(Lane, Lane*) const {}
};

}  // namespace glint::GLINT_ISA
