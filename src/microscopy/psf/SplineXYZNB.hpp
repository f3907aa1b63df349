// SplineXYZNB: position, photons, background and z by a measured PSF.
// SPDX-License-Identifier: MIT
#pragma once

#include "psf/measured_spline.hpp"

namespace glint::GLINT_ISA {

struct SplineXYZNB : MeasuredSpline<4> {
    static constexpr PsfFacts facts{.about = "z by a measured PSF",
                                    .source = PsfSource::table,
                                    .shape = {{"z", "um", PsfColumn::z}},
                                    .max_edges = {1000, 1000, 1000, 1},  // of Place
                                    .min_edges = {4, 4, 4, 1}};
    static constexpr int start_candidates = 7;

    /// The centres of equal parts of the range.
    GLINT_INLINE void start(int k, Lane* shape) const {
        shape[0] = splat(psf.z_min_um + (float(k) + 0.5f) * (psf.z_max_um - psf.z_min_um) / start_candidates);
    }
    GLINT_INLINE Interval bounds(int) const { return {splat(psf.z_min_um), splat(psf.z_max_um)}; }
    GLINT_INLINE Lane step_limit(int, const Lane*) const { return splat(0.1f * (psf.z_max_um - psf.z_min_um)); }
    GLINT_INLINE void typical(Lane z_um, Lane* shape) const { shape[0] = z_um; }
};

}  // namespace glint::GLINT_ISA
