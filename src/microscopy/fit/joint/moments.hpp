// The second moments of the residuals of molecules: they reveal light whose shape differs from the image (theory.md,
// eq. 10.5).
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/cholesky.hpp"
#include "fit/joint/group.hpp"

namespace glint::GLINT_ISA {

/// How far a molecule's light deviates from its image:
/// - the excess of its second moments, px^2,
/// - twice the gain of log L by such moments, in quadratic approximation, and
/// - the excess of its squared residuals over noise, in standard deviations.
struct MomentExcess {
    float xx, xy, yy, gain, squares;
};

template <class Psf>
class JointMoments {
  public:
    GLINT_INLINE explicit JointMoments(JointGroup<Psf>& group) : group_(group) {}

    /// Computes the moments of all molecules, whose model is set, for excess().
    GLINT_JOINT_CALL void find(const JointState& state) {
        group_.set_residual(state, [](Lane, Lane) {});
        for (int e = Team::warp(); e < state.count; e += Team::warps) {
            group_.place(state.of(e), 0, e);
            Warp::sync();
            sum(group_.space().images[0][e], state.of(e), sums_of(e));
        }
        Team::sync();
    }

    /// Returns zeros if the molecule lights too few pixels for a result.
    GLINT_INLINE MomentExcess excess(const JointState& state, int e) const {
        const float* sums = sums_of(e);
        Lane gradient[4], information[10], part[4];
        for (int k = 0; k < 4; ++k) gradient[k] = splat(sums[Sums::residual + k]);
        for (int k = 0; k < 10; ++k) information[k] = splat(sums[Sums::information + k]);
        const Cholesky<4> factor(information);
        factor.solve(gradient, part);
        MomentExcess result{};
        if (any(factor.singular)) return result;
        // An image of N photons with the variances v + D is h (1 + D_xx (x^2 / v - 1) / 2 v + D_xy x y / v_x v_y +
        // ...).
        const Widths w = group_.widths(state.of(e));
        const float x = first_of(w.x), y = first_of(w.y), per_photon = 1 / state.of(e)[2];
        result.xx = 2 * x * x * per_photon * first_of(part[1]);
        result.xy = x * y * per_photon * first_of(part[2]);
        result.yy = 2 * y * y * per_photon * first_of(part[3]);
        for (int k = 0; k < 4; ++k) result.gain += first_of(gradient[k] * part[k]);
        result.squares = sums[Sums::squares] / root_of(max_of(sums[Sums::variance], 1e-9f));
        return result;
    }

  private:
    using Sums = MomentSums<Psf>;
    static constexpr float reach_widths = 3;

    GLINT_INLINE float* sums_of(int e) const { return group_.space().moments + e * Sums::count; }
    /// Computes one molecule's moments. Called by one warp.
    GLINT_INLINE void sum(const EmitterImage<Psf>& image, const float* theta, float* to) const {
        const JointSpace<Psf>& space = group_.space();
        const JointImage& pixels = group_.image();
        const int middle = floor_of(theta[1] + 0.5f), reach = int(reach_widths * image.widest()) + 1;
        const Box rows = {0, pixels.width, middle - reach, middle + reach + 1}, box = overlap(image.box(), rows);
        Lane sums[Sums::count];
        for (Lane& sum : sums) sum = Lane{};
        const Widths w = group_.widths(theta);
        for (int x = box.x0 + Warp::column(); x < box.x1 && !box.empty(); x += Warp::column_step)
            Sums::add(image, box, x, theta, w, space.residual, space.weight, pixels.pitch, sums);
        Warp::for_sums<Sums::count>(sums, [=](int k, float sum) { to[k] = sum; });
    }

    JointGroup<Psf>& group_;
};

}  // namespace glint::GLINT_ISA
