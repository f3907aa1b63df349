// Molecules whose light has not the shape of their image: they restart from another shape, or are split in two
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

    /// Whether any molecule has changed; then all have been fitted together.
    GLINT_JOINT_CALL bool run(JointState& state, JointResult& out) {
        bool any = false;
        moments_.find(state);
        const int count = state.count;
        for (int e = 0; e < count; ++e) {
            const MomentExcess excess = moments_.excess(state, e);
            if (!is_doubtful(state.of(e), excess)) continue;
            if (!restart(state, e) && !split(state, e, excess)) continue;
            this->fit_all(state, out), any = true;
            moments_.find(state);
        }
        return any;
    }

  private:
    using Tries = JointTries<Psf>;
    using Tries::group_, Tries::P, Tries::has_other_shapes, Tries::has_start_shapes, Tries::most_of_a_try, Tries::start;
    // Of moments: two molecules gain more than their second moments show.
    static constexpr float least_gain = 12;
    static constexpr float least_squares = 1.5f;    // standard deviations
    static constexpr float least_restart_gain = 2;  // of 2 log L: beyond what the ends of two fits differ by
    // Distance from the centre in widths. Molecules farther apart explain no second moments, but compensate for a
    // curved background.
    static constexpr float least_apart = 0.3f, most_apart = 1.3f;

    /// A wrong shape may leave no second moments, but other structure, or end at a bound. A PSF that differs from the
    /// model leaves both everywhere.
    GLINT_INLINE bool is_doubtful(const float* theta, const MomentExcess& excess) const {
        const JointNumbers& numbers = group_.numbers();
        if (excess.gain > least_gain + 4 * numbers.misfit * numbers.misfit * theta[2]) return true;
        if (!has_start_shapes) return false;
        return group_.is_at_bound(theta) || (excess.squares > least_squares && !(numbers.satellites[0] > 0));
    }

    /// From each of the start shapes, within the pixels.
    GLINT_INLINE bool restart(JointState& state, int e) {
        bool better = false;
        if constexpr (has_other_shapes)
            for (int k = 0; k < Psf::start_candidates; ++k) {
                JointState next = this->spare_of(state);
                float again[most_parameters] = {};
                start(k, again);
                again[0] = within(state.of(e)[0], 0.0f, float(group_.image().width - 1));
                again[1] = within(state.of(e)[1], 0.0f, float(group_.image().height - 1));
                again[2] = state.of(e)[2];
                this->set(next, e, again);
                this->move_around(state, state.count, state.of(e));
                if (!(this->gain_of(next, state, least_restart_gain, most_of_a_try) > least_restart_gain)) continue;
                this->accept(state);
                better = true;
            }
        return better;
    }

    /// Into two of its own shape, or of one of the start shapes.
    GLINT_INLINE bool split(JointState& state, int e, const MomentExcess& excess) {
        if (state.count >= group_.numbers().most_emitters) return false;
        float half[most_parameters] = {};
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

    /// Into two of the shape of `half`, each with half the photons, that have together the second moments (xx, xy, yy)
    /// beside their own: at plus and minus the root of the greater eigenvalue, along its axis.
    GLINT_INLINE bool split_into(JointState& state, int e, float xx, float xy, float yy, float* half) {
        const float *one = state.of(e), width = group_.widest(half);
        const float difference = 0.5f * (xx - yy), root = root_of(difference * difference + xy * xy);
        const float apart =
            width * within(root_of(most_of(0.5f * (xx + yy) + root, 0.0f)) / width, least_apart, most_apart);
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
        const float gain = this->gain_of(next, state, limit, most_of_a_try);
        if (!(gain > limit) || this->is_explained(gain, state.count)) return false;
        const JointState& two = group_.spare(1);
        const float far = most_of(this->distance(two.of(e), one), this->distance(two.of(state.count), one));
        Team::sync();  // whoever is first would write over what the others read
        if (far > most_apart * width) return false;
        this->accept(state);
        return true;
    }

    JointMoments<Psf> moments_;
};

}  // namespace glint::GLINT_ISA
