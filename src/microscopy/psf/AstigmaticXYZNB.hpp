// AstigmaticXYZNB: z through the calibrated widths (Huang et al., Science 319, 810 (2008); theory.md, eq. 1.3).
// SPDX-License-Identifier: MIT
#pragma once

#include "psf/model.hpp"

namespace glint::GLINT_ISA {

struct AstigmaticXYZNB : ProductOfGaussians {
    static constexpr PsfFacts facts{
        .about = "z", .source = PsfSource::calibration, .shape = {{"z", "um", PsfColumn::z}}};
    static constexpr int start_candidates = 5;

    GLINT_INLINE Widths widths(const Lane* shape) const {
        Widths w;
        axis(shape[0], psf.sx0_px, -psf.gamma_um, psf.ax, psf.bx, w.x, w.x_slope);
        axis(shape[0], psf.sy0_px, psf.gamma_um, psf.ay, psf.by, w.y, w.y_slope);
        return w;
    }
    /// The centres of five equal parts of the calibrated range.
    GLINT_INLINE void start(int k, Lane* shape) const {
        const Scalar part = (psf.z_max_um - psf.z_min_um) / start_candidates;
        shape[0] = splat(psf.z_min_um + (float(k) + 0.5f) * part);
    }
    GLINT_INLINE Interval bounds(int) const { return {splat(psf.z_min_um), splat(psf.z_max_um)}; }
    GLINT_INLINE Lane step_limit(int, const Lane*) const { return splat(0.3f * psf.d_um); }
    GLINT_INLINE void typical(Lane z_um, Lane* shape) const { shape[0] = z_um; }

  private:
    /// Width along one axis and its derivative by z. The square stays positive outside the calibrated range.
    GLINT_INLINE void axis(Lane z, Scalar s0, Scalar shift, Scalar a, Scalar b, Lane& sigma, Lane& slope) const {
        const Scalar per_um = 1.0f / psf.d_um;
        const Lane u = (z + shift) * per_um;
        const Lane square = max(u * u * ((b * u + a) * u + 1.0f) + 1.0f, splat(Scalar(0.05)));
        const Lane root = sqrt(square);
        sigma = s0 * root;
        slope = (0.5f * s0 * per_um) * (u * ((4.0f * b * u + 3.0f * a) * u + 2.0f)) / root;
    }
};

}  // namespace glint::GLINT_ISA
