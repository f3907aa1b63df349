// The iteration of a fit: Fisher-scoring steps, damped and kept within bounds (docs/explanation/theory.md, section 3).
//
// Uses the full Fisher matrix, whereas Smith et al. (2010) divide each gradient by its own second derivative. It needs
// 4 to 6 iterations for x, y, N, b, far fewer than a diagonal. Steps are checked by the score and their own length.
// Checking them by the likelihood as well would need one more pass over the pixels per iteration, about twice the time.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/cholesky.hpp"
#include "fit/kernel/group_fit.hpp"

namespace glint::GLINT_ISA {

/// Steps of Fisher scoring until every lane has converged, then the Cramer-Rao lower bounds (eq. 3.4) from the matrix
/// of each lane's last step. Lanes that have converged are frozen, so a fit's result depends on its own pixels only,
/// bit for bit.
template <class Psf, int fixed, bool mapped, bool weighted>
GLINT_INLINE void GroupFit<Psf, fixed, mapped, weighted>::run(GroupResult<Psf>& out) {
    // Lanes end at different iterations but run together until all are done. A lane's state is written through
    // select(idle, ...), so further iterations have no effect on finished lanes.
    Mask done = all_false();
    out.iterations = Lane{};
    out.bounded = out.singular = all_false();
    // `previous` is the last step as taken, after limits and bounds. `previous_slope` is the slope of log L along it at
    // its start.
    Derivatives<Psf> score, last{};
    Lane previous[P], previous_slope = Lane{}, fraction = splat(1.0f);
    for (int k = 0; k < P; ++k) previous[k] = Lane{};
    for (int iteration = 0; iteration < options_.max_iterations && !all(done); ++iteration) {
        const Mask idle = lane_width > 1 ? done : all_false();  // a lane of one leaves the loop when done
        evaluate(score);
        // I step = g (eq. 3.1 and 3.2) for the parameters that are not at a bound.
        const Mask fixed_now = hold_bounded(score);
        const Cholesky<P> factor(score.fisher);
        Lane step[P];
        factor.solve(score.gradient, step);
        damp(score, previous, previous_slope, fraction);
        take_step(step, fraction, previous);
        // The slope along this step, for damp() in the next iteration.
        Lane slope = Lane{};
        GLINT_UNROLL
        for (int k = 0; k < P; ++k) {
            slope += previous[k] * score.gradient[k];
            theta_[k] = select(idle, theta_[k], theta_[k] + previous[k]);
        }
        // |step_k| sqrt(I_kk) below the tolerance: each step is less than that fraction of its standard error.
        Mask small = all_true();
        GLINT_UNROLL
        for (int k = 0; k < P; ++k)
            small &= previous[k] * previous[k] * score.fisher[packed(k, k)] < options_.tolerance * options_.tolerance;
        previous_slope = slope;
        // The Fisher matrix of a lane's last step gives its CRLB. Iterations for other lanes must not replace the
        // matrix.
        for (int k = 0; k < P * (P + 1) / 2; ++k)
            last.fisher[k] = iteration == 0 ? score.fisher[k] : select(idle, last.fisher[k], score.fisher[k]);
        out.iterations += select(idle, Lane{}, splat(1.0f));
        out.bounded = select_mask(idle, out.bounded, fixed_now);
        out.singular = select_mask(idle, out.singular, factor.singular);
        done |= small;
    }
    // The last step was also applied, so the matrix belongs to the point before it. If the fit has converged, the
    // distance is less than the tolerance.
    out.converged = done;
    const Cholesky<P> factor(last.fisher);
    factor.inverse_diagonal(out.variance);
    for (int k = 0; k < P; ++k) out.theta[k] = theta_[k];
}

/// Returns the interval of parameter k. x and y may leave the ROI by a margin. bg's lower bound depends on N and the
/// position (min_bg_, from evaluate()), so that mu' stays positive. 1e9 is beyond any camera.
template <class Psf, int fixed, bool mapped, bool weighted>
GLINT_INLINE Interval GroupFit<Psf, fixed, mapped, weighted>::bounds(int k) const {
    if (k < 2) return {splat(-options_.margin_px), splat(float(size() - 1) + options_.margin_px)};
    if (k == 2) return {splat(photons_floor), splat(1e9f)};
    if (k == 3) return {min_bg_, splat(1e9f)};
    return psf_.bounds(k - 4);
}

/// Removes parameters that are at a bound and pushed outward from the system, so that the other parameters reach their
/// optimum. Returns the lanes with such a parameter. If the step were only clipped, the other parameters would keep the
/// part of their step that belongs to the clipped change.
template <class Psf, int fixed, bool mapped, bool weighted>
GLINT_INLINE Mask GroupFit<Psf, fixed, mapped, weighted>::hold_bounded(Derivatives<Psf>& score) const {
    Mask held[P], any_held = all_false();
    for (int k = 0; k < P; ++k) {
        const Interval limit = bounds(k);
        held[k] = ((theta_[k] <= limit.low) & (score.gradient[k] < 0.0f)) |
                  ((theta_[k] >= limit.high) & (score.gradient[k] > 0.0f));
        any_held |= held[k];
    }
    // The common case. Lanes without such a parameter would keep all values below anyway.
    if (!any(any_held)) return any_held;
    // With zero gradient and zero off-diagonal elements, the parameter's step is 0, and the other steps do not depend
    // on it.
    for (int k = 0; k < P; ++k) {
        score.gradient[k] = select(held[k], Lane{}, score.gradient[k]);
        for (int q = 0; q < P; ++q)
            if (q != k) {
                Lane& cell = score.fisher[q < k ? packed(k, q) : packed(q, k)];
                cell = select(held[k], Lane{}, cell);
            }
    }
    return any_held;
}

/// Sets `fraction`, by which the next step is scaled. A lane has overshot if the slope of log L along the last step was
/// reversed by more than a quarter. Such a lane takes only the secant method's part of the next step, which stops an
/// oscillation between two points. `fraction` then grows back to 1.
///
/// The slope along the last step is measured at its end, with the new gradient. By linear interpolation, its zero is at
/// previous_slope / (previous_slope - slope) of that step.
template <class Psf, int fixed, bool mapped, bool weighted>
GLINT_INLINE void GroupFit<Psf, fixed, mapped, weighted>::damp(const Derivatives<Psf>& score, const Lane* previous,
                                                               Lane previous_slope, Lane& fraction) const {
    Lane slope = Lane{};
    for (int k = 0; k < P; ++k) slope += previous[k] * score.gradient[k];
    const Mask overshot = slope < -0.25f * previous_slope;
    // min(): lanes that have not overshot compute it too, and must not divide by 0.
    const Lane secant = clamp(previous_slope / (previous_slope - min(slope, splat(-1e-20f))), splat(0.2f), splat(1.0f));
    fraction = select(overshot, fraction * secant, min(fraction * 1.5f, splat(1.0f)));
}

/// Takes the step scaled by `fraction`, limited in length and kept within the bounds. The change of each parameter goes
/// to `moved`.
template <class Psf, int fixed, bool mapped, bool weighted>
GLINT_INLINE void GroupFit<Psf, fixed, mapped, weighted>::take_step(const Lane* step, Lane fraction,
                                                                    Lane* moved) const {
    GLINT_UNROLL
    for (int k = 0; k < P; ++k) {
        // The Fisher matrix describes the likelihood well only near the maximum (section 3, Steps). In practice, bg has
        // no limit.
        const Lane longest = k < 2    ? splat(1.0f)
                             : k == 2 ? 0.7f * theta_[2] + 10.0f
                             : k == 3 ? splat(1e8f)
                                      : psf_.step_limit(k - 4, theta_ + 4);
        const Interval limit = bounds(k);
        // The slope is computed along the step that the bounds allow, not along the full one.
        const Lane wanted = clamp(step[k] * fraction, -longest, longest);
        moved[k] = clamp(theta_[k] + wanted, limit.low, limit.high) - theta_[k];
    }
}

/// Returns `yes` where mask is true, else `no`.
template <class Psf, int fixed, bool mapped, bool weighted>
GLINT_INLINE Mask GroupFit<Psf, fixed, mapped, weighted>::select_mask(Mask mask, Mask yes, Mask no) {
    return (mask & yes) | (negate(mask) & no);
}

}  // namespace glint::GLINT_ISA
