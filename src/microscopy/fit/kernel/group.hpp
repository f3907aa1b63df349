// What the kernel reads and writes for one group of fits: pixels, derivatives of the log-likelihood, results, status.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/goodness.hpp"
#include "fit/kernel_abi.hpp"
#include "psf/model.hpp"

namespace glint::GLINT_ISA {

constexpr int max_size = 31;  // the largest ROI, px along a side
constexpr float model_floor =
    0.01f;  // minimum expected signal mu' of a pixel, e-: the only bound on bg is mu' > 0 (section 2)
constexpr float rounding = 4e-7f;  // absolute error of a PSF profile (special.hpp); times N, the error of mu'
// N stays positive. At N = 0 e- the derivatives by position vanish, and the matrix would be singular.
constexpr float photons_floor = 1.0f;

/// The pixels of one group: as many ROIs as a Lane has elements, stored as [pixel][lane]. Does not own the data. All
/// values are those of theory.md, eq. 2.2. With these values every camera has a Poisson likelihood, and the kernel
/// needs no camera model.
struct GroupPixels {
    const float* data;      // d'
    const float* known;     // the known part of the model, m / f + v / f^2, per pixel; null: `known_scalar` everywhere
    const float* variance;  // v / f^2 per pixel, for the p value only; null: `variance_scalar`
    Lane known_scalar, known_least;
    float variance_scalar;
    int size;
    const float* weight = nullptr;  // the quantum efficiency q per pixel, if the camera has a map of it (eq. 2.3)

    GLINT_INLINE Lane q(int p) const { return load(weight + p * lane_width); }
    GLINT_INLINE Lane d(int p) const { return load(data + p * lane_width); }
    GLINT_INLINE Lane v(int p) const { return variance ? load(variance + p * lane_width) : splat(variance_scalar); }
};

/// First derivatives of log L (eq. 3.1) and Fisher matrix (eq. 3.2, packed lower triangle). The parameters are, in this
/// order, x, y, N, bg and the model's shape parameters.
template <class Psf>
struct Derivatives {
    static constexpr int P = 4 + shape_parameters<Psf>;
    static_assert(P <= max_psf_parameters);
    Lane gradient[P];
    Lane fisher[P * (P + 1) / 2];
};

/// Result of a group of fits. bg excludes the known part; N and bg are still divided by the noise of light f (eq. 2.2).
template <class Psf>
struct GroupResult {
    static constexpr int P = Derivatives<Psf>::P;
    Lane theta[P], variance[P];  // variance: the squared Cramer-Rao lower bound (eq. 3.4)
    Goodness goodness;
    Lane iterations;
    Mask converged, bounded, singular;
};

/// Returns the status as a number (glint::FitStatus). Later lines take precedence, so a fit gets the worst status that
/// applies. A variance of x or y that exceeds the squared ROI size counts as singular: the ROI is empty or saturated
/// and determines no position.
template <class Psf>
GLINT_INLINE IntLane status_of(const GroupResult<Psf>& fit, float size, Mask bad) {
    // Written as a negation, so that NaN counts as lost.
    const Mask lost = negate(max(fit.variance[0], fit.variance[1]) < size * size);
    IntLane status = fit.converged ? IntLane{} : IntLane{} + 1;
    status = (fit.converged & fit.bounded) ? IntLane{} + 2 : status;
    status = (fit.singular | lost) ? IntLane{} + 3 : status;
    return bad ? IntLane{} + 4 : status;
}

}  // namespace glint::GLINT_ISA
