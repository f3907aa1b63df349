// AstigmaticXYZNB: z through the calibrated widths (Huang et al., Science 319, 810 (2008); docs/theory.md, eq. 1.3).
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/psf_concept.hpp"
#include "fit/special.hpp"

namespace glint::GLINT_ISA {

struct AstigmaticXYZNB {
    static constexpr int shape_parameters = 1;
    static constexpr int start_candidates = 5;

    KernelPsf psf;

    GLINT_INLINE Widths widths(const Lane* shape) const {
        Widths w;
        axis(shape[0], psf.sx0_px, -psf.gamma_um, psf.ax, psf.bx, w.x, w.x_slope);
        axis(shape[0], psf.sy0_px, psf.gamma_um, psf.ay, psf.by, w.y, w.y_slope);
        return w;
    }
    /// Evenly over the calibrated range, the middle of each of five parts.
    GLINT_INLINE void start(int k, Lane* shape) const {
        const float part = (psf.z_max_um - psf.z_min_um) / start_candidates;
        shape[0] = splat(psf.z_min_um + (k + 0.5f) * part);
    }
    GLINT_INLINE Interval bounds(int) const { return {splat(psf.z_min_um), splat(psf.z_max_um)}; }
    GLINT_INLINE Lane step_limit(int, const Lane*) const { return splat(0.3f * psf.d_um); }

  private:
    GLINT_INLINE void axis(Lane z, float s0, float shift, float a, float b, Lane& sigma, Lane& slope) const {
        const float per_um = 1.0f / psf.d_um;
        const Lane u = (z + shift) * per_um;
        const Lane square = max(u * u * ((b * u + a) * u + 1.0f) + 1.0f, splat(0.05f));
        const Lane root = sqrt(square);
        sigma = s0 * root;
        slope = (0.5f * s0 * per_um) * (u * ((4.0f * b * u + 3.0f * a) * u + 2.0f)) / root;
    }
};

}  // namespace glint::GLINT_ISA
