// Common to the searches of a joint fit: which molecules move during a trial, and the gain that is required.
//
// During the trial of a molecule, only the molecules around it move. Accepted changes are fitted together again at the
// end.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/joint/group.hpp"

namespace glint::GLINT_ISA {

template <class Psf>
class JointTries {
  public:
    GLINT_INLINE explicit JointTries(JointGroup<Psf>& group) : group_(group) {}

    GLINT_INLINE void fit_all(JointState& state, JointResult& out) {
        group_.move_all(state);
        group_.fit(state, nullptr, 0, group_.numbers().max_iterations);
        group_.note_end(out);
    }

  protected:
    static constexpr int P = JointGroup<Psf>::P, max_try_gain = 25;  // iterations
    static constexpr bool has_start_shapes = Psf::start_candidates > 1;
    /// True if a fit may end at a wrong shape far from the right one. A width has only one maximum. If no width within
    /// the bounds is right, every start ends at a bound.
    static constexpr bool has_other_shapes = has_start_shapes && !has_widths_only(Psf::facts.shape);
    static constexpr float min_unexplained = 0.1f, impossible = 1e30f;

    GLINT_INLINE float satellite_share(float distance_px) const {
        const float steps = distance_px / satellite_step_px;
        if (!(steps < float(satellite_steps - 1))) return 0;
        const int k = int(steps);
        const float* share = group_.numbers().satellites + k;
        return share[0] + (steps - float(k)) * (share[1] - share[0]);
    }

    static GLINT_INLINE float distance(const float* a, const float* b) {
        const float x = a[0] - b[0], y = a[1] - b[1];
        return root_of(x * x + y * y);
    }

    /// Lets those of the first `count` molecules move whose images overlap the image of `like`.
    GLINT_INLINE void move_around(const JointState& state, int count, const float* like) {
        const float reach = 3 * group_.widest(like);
        group_.move_none();
        for (int e = 0; e < count; ++e)
            if (distance(state.of(e), like) < reach + 3 * group_.widest(state.of(e))) group_.move_also(e);
    }

    /// Returns the photons that the misfit of the other molecules explains at the position of `one` (eq. 10.9).
    GLINT_INLINE float explained_photons(const JointState& state, const float* one, int but) const {
        if (!group_.numbers().has_satellites) return 0;
        float squares = 0;
        for (int e = Team::rank(); e < state.count; e += Team::size) {
            if (e == but) continue;
            const float photons = state.of(e)[2] * satellite_share(distance(state.of(e), one));
            squares += photons * photons;
        }
        return root_of(Team::sum_of_members(squares));
    }

    /// Returns the threshold of 2 delta log L for the molecule `one`. Its photons beyond those that are explained must
    /// be significant (eq. 10.10).
    GLINT_INLINE float threshold_of_photons(const JointState& state, const float* one, int but) const {
        const float limit = threshold(state, one, but), unexplained = 1 - explained_photons(state, one, but) / one[2];
        if (unexplained >= 1) return limit;
        if (!(unexplained > min_unexplained)) return impossible;
        return limit + group_.numbers().min_gain * (1 / (unexplained * unexplained) - 1);
    }

    /// Returns the minimum of 2 delta log L at this position, for any number of photons (eq. 10.4).
    GLINT_INLINE float threshold(const JointState& state, const float* at, int but) const {
        float photons = 0;
        for (int e = Team::rank(); e < state.count; e += Team::size) {
            if (e == but) continue;
            const float r = distance(state.of(e), at) / group_.widest(state.of(e));
            photons += state.of(e)[2] * first_of(exp2_negative(splat(r * r * (-0.125f * 1.442695041f))));
        }
        const JointNumbers& numbers = group_.numbers();
        return numbers.min_gain + 4 * numbers.misfit * numbers.misfit * Team::sum_of_members(photons);
    }

    /// Sets theta to the k-th start shape of a molecule at the origin.
    GLINT_INLINE void start(int k, float* theta) const {
        Lane shape[P];
        for (int q = 0; q < P; ++q) shape[q] = Lane{};
        group_.psf().start(k, shape + 4);
        for (int q = 0; q < P; ++q) theta[q] = first_of(shape[q]);
        theta[2] = 1;
    }

    /// Returns a copy of the state, to be changed.
    GLINT_INLINE JointState spare_of(const JointState& state) const {
        JointState next = group_.spare(1);
        JointGroup<Psf>::copy(state, next);
        return next;
    }
    /// Sets molecule e to the values in `from`. Called by all members with the same arguments.
    static GLINT_INLINE void set(JointState& state, int e, const float* from) {
        for (int k = Team::rank(); k < max_psf_parameters; k += Team::size) state.of(e)[k] = from[k];
    }

    /// Fits the moving molecules of the spare state `next`. Returns twice its log-likelihood relative to the state's.
    /// The fit ends early if that will not exceed `needed`.
    GLINT_INLINE float gain_of(JointState& next, const JointState& state, float needed, int iterations) {
        constexpr float roughly = 1e-2f;  // of log L
        Team::sync();
        const float gain =
            group_.fit(next, state.mu, roughly, min_of(iterations, group_.numbers().max_iterations), needed / 2);
        group_.spare(1) = next;
        return 2 * gain;
    }
    /// Returns true if the misfit of the other molecules explains the gain of the spare state's molecule e.
    GLINT_INLINE bool is_explained(float gain, int e) const {
        if (!group_.numbers().has_satellites) return false;
        const JointState& next = group_.spare(1);
        return !(gain > threshold_of_photons(next, next.of(e), e));
    }
    /// Replaces the state by the spare state.
    GLINT_INLINE void accept(JointState& state) { JointGroup<Psf>::swap(state, group_.spare(1)); }

    JointGroup<Psf>& group_;
};

}  // namespace glint::GLINT_ISA
