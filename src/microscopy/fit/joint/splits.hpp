// Molecules whose light does not have the shape of their image: they restart from another shape, or are split in two
// (docs/explanation/theory.md, section 10).
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/joint/moments.hpp"
#include "fit/joint/tries.hpp"

namespace glint::GLINT_ISA {

template <class Psf>
class JointSplits : public JointTries<Psf> {
  public:
    GLINT_INLINE explicit JointSplits(JointGroup<Psf>& group) : JointTries<Psf>(group), moments_(group) {}

    /// Returns true if any molecule has changed; all have then been fitted together. A search calls this several times.
    GLINT_JOINT_CALL bool run(JointState& state, JointResult& out) {
        bool any = false;
        moments_.find(state);
        const int count = state.count;
        if (tries_left_ < 0) tries_left_ = min_tries + tries_a_molecule * count;
        for (int e = 0; e < count; ++e) {
            const MomentExcess excess = moments_.excess(state, e);
            if (!is_doubtful(state.of(e), excess)) continue;
            if (!Psf::separable && tries_left_ == 0) return any;
            if (!restart(state, e) && !split(state, e, excess)) continue;
            this->fit_all(state, out), any = true;
            moments_.find(state);
        }
        return any;
    }

  private:
    using Tries = JointTries<Psf>;
    using Tries::group_, Tries::P, Tries::has_other_shapes, Tries::has_start_shapes, Tries::max_try_gain, Tries::start;
    // Minimum gain by moments. Two molecules gain more than their second moments show.
    static constexpr float min_gain = 12;
    static constexpr float least_squares = 1.5f;  // standard deviations
    static constexpr float min_restart_gain = 2;  // in 2 log L: more than the difference between the ends of two fits
    // Distance from the centre in widths. Molecules farther apart explain no second moments, but compensate for a
    // curved background.
    static constexpr float min_apart = 0.3f, max_apart = 1.3f;

    /// Returns true if the shape may be wrong. A wrong shape may leave no second moments but other structure, or end at
    /// a bound. A PSF that differs from the model leaves both everywhere.
    GLINT_INLINE bool is_doubtful(const float* theta, const MomentExcess& excess) const {
        const JointNumbers& numbers = group_.numbers();
        if (excess.gain > min_gain + 4 * numbers.misfit * numbers.misfit * theta[2]) return true;
        if (!has_start_shapes) return false;
        return group_.is_at_bound(theta) || (excess.squares > least_squares && !(numbers.satellites[0] > 0));
    }

    /// Restarts a molecule from each of the start shapes, within the pixels.
    GLINT_INLINE bool restart(JointState& state, int e) {
        bool better = false;
        if constexpr (has_other_shapes)
            for (int k = 0; k < Psf::start_candidates; ++k) {
                JointState next = this->spare_of(state);
                float again[max_psf_parameters] = {};
                start(k, again);
                again[0] = within(state.of(e)[0], 0.0f, float(group_.image().width - 1));
                again[1] = within(state.of(e)[1], 0.0f, float(group_.image().height - 1));
                again[2] = state.of(e)[2];
                this->set(next, e, again);
                this->move_around(state, state.count, state.of(e));
                if (!may_try()) return better;
                if (!(this->gain_of(next, state, min_restart_gain, max_try_gain) > min_restart_gain)) continue;
                this->accept(state);
                better = true;
            }
        return better;
    }

    /// Splits a molecule into two with its own shape, or with one of the start shapes.
    GLINT_INLINE bool split(JointState& state, int e, const MomentExcess& excess) {
        if (state.count >= group_.numbers().max_emitters) return false;
        float half[max_psf_parameters] = {};
        for (int k = 0; k < P; ++k) half[k] = state.of(e)[k];
        if (split_into(state, e, excess.xx, excess.xy, excess.yy, half)) return true;
        if constexpr (has_start_shapes) {
            const Widths w = group_.widths(state.of(e));
            for (int k = 0; k < Psf::start_candidates; ++k) {
                start(k, half);
                const Widths of = group_.widths(half);
                const float xx = excess.xx + first_of(w.x * w.x - of.x * of.x);
                const float yy = excess.yy + first_of(w.y * w.y - of.y * of.y);
                if (split_into(state, e, xx, excess.xy, yy, half)) return true;
            }
        }
        return false;
    }

    /// Splits a molecule into two with the shape of `half` and half of the photons each. They are placed so that the
    /// pair has the second moments (xx, xy, yy) in addition to their own: at plus and minus the root of the larger
    /// eigenvalue, along its axis.
    GLINT_INLINE bool split_into(JointState& state, int e, float xx, float xy, float yy, float* half) {
        if (!may_try()) return false;
        const float *one = state.of(e), width = group_.widest(half);
        const float difference = 0.5f * (xx - yy), root = root_of(difference * difference + xy * xy);
        const float apart =
            width * within(root_of(max_of(0.5f * (xx + yy) + root, 0.0f)) / width, min_apart, max_apart);
        const float cosine = root > 0 ? difference / root : 1.0f;  // of twice the axis' angle
        const float along = apart * root_of(0.5f * (1 + cosine));
        const float across = (xy < 0 ? -apart : apart) * root_of(0.5f * (1 - cosine));
        JointState next = this->spare_of(state);
        half[2] = 0.5f * one[2];
        half[0] = one[0] - along, half[1] = one[1] - across;
        this->set(next, e, half);
        half[0] = one[0] + along, half[1] = one[1] + across;
        this->set(next, state.count, half);
        next.count = state.count + 1;
        const float limit = this->threshold(state, one, -1);
        this->move_around(state, state.count, one);
        group_.move_also(state.count);
        const float gain = this->gain_of(next, state, limit, max_try_gain);
        if (!(gain > limit) || this->is_explained(gain, state.count)) return false;
        const JointState& two = group_.spare(1);
        const float far = max_of(this->distance(two.of(e), one), this->distance(two.of(state.count), one));
        Team::sync();  // before the first member overwrites data that other members read
        if (far > max_apart * width) return false;
        this->accept(state);
        return true;
    }

    /// Counts the trials, and returns false after the last one. Light that does not resemble a measured PSF, such as
    /// that of another lens, leaves all molecules doubtful.
    GLINT_INLINE bool may_try() {
        if constexpr (!Psf::separable) return tries_left_ > 0 && tries_left_-- > 0;
        return true;
    }

    JointMoments<Psf> moments_;
    static constexpr int min_tries = 60, tries_a_molecule = 6;
    int tries_left_ = -1;  // below 0: before the first run
};

}  // namespace glint::GLINT_ISA
