// The search for molecules that the detection did not part: adds from the residual, and removes what is not missed
// (docs/theory.md, section 10).
//
// While a molecule is tried, only the ones around it move; what is accepted is fitted together again at the end.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/joint/group.hpp"

namespace glint::GLINT_ISA {

template <class Psf>
class JointSearch {
  public:
    GLINT_INLINE explicit JointSearch(JointGroup<Psf>& group) : group_(group) {}

    /// Finds all molecules from those of `state`. Leaves the number, the parameters and their precision in `out`.
    GLINT_INLINE void run(JointState& state, JointResult& out) {
        fit_all(state, 0);
        while (add(state)) fit_all(state, 0);
        if (!group_.tilted() && tilt(state))
            while (add(state)) fit_all(state, 0);
        group_.finish(state, out);
        bool removed = false;
        while (state.count > 0 && remove_one(state, out)) removed = true;
        if (!removed) return;
        fit_all(state, 0);
        group_.finish(state, out);
    }

    GLINT_INLINE void fit_all(JointState& state, float least_gain) {
        group_.move_all(state);
        group_.fit(state, nullptr, least_gain, group_.numbers().max_iterations);
    }

  private:
    using Image = typename JointGroup<Psf>::Image;
    static constexpr int P = JointGroup<Psf>::P;
    static constexpr float roughly = 1e-2f;                   // of log L
    static constexpr float least_score = 3;                   // standard errors; the likelihood decides
    static constexpr int most_tries = 4, most_of_a_try = 25;  // places, iterations
    static constexpr float split = 0.4f;
    static constexpr float doubtful = 8;  // standard errors of N
    static constexpr float hopeful = 0.25f;

    static GLINT_INLINE float distance(const float* a, const float* b) {
        const float x = a[0] - b[0], y = a[1] - b[1];
        return root_of(x * x + y * y);
    }

    /// Those of the first `count` whose images overlap that of `like` move.
    GLINT_INLINE void move_around(const JointState& state, int count, const float* like) {
        const float reach = 3 * group_.widest(like);
        group_.move_none();
        for (int e = 0; e < count; ++e)
            if (distance(state.of(e), like) < reach + 3 * group_.widest(state.of(e))) group_.move_also(e);
    }

    /// What 2 delta log L must exceed there (eq. 10.4).
    GLINT_INLINE float threshold(const JointState& state, const float* at, int but) const {
        float photons = 0;
        for (int e = Team::rank(); e < state.count; e += Team::size) {
            if (e == but) continue;
            const float r = distance(state.of(e), at) / group_.widest(state.of(e));
            photons += state.of(e)[2] * first_of(exp2_negative(splat(r * r * (-0.125f * 1.442695041f))));
        }
        const JointNumbers& numbers = group_.numbers();
        return numbers.least_gain + 4 * numbers.misfit * numbers.misfit * Team::sum_of_members(photons);
    }

    /// The k-th start shape of a molecule at the origin.
    GLINT_INLINE void start(int k, float* theta) const {
        Lane shape[P];
        for (int q = 0; q < P; ++q) shape[q] = Lane{};
        group_.psf().start(k, shape + 4);
        for (int q = 0; q < P; ++q) theta[q] = first_of(shape[q]);
        theta[2] = 1;
    }

    /// The score of one more molecule at each pixel (eq. 10.3), the photons that it would have, and its start shape; 0
    /// where none is looked for.
    GLINT_JOINT_CALL void score(JointState& state) {
        group_.set_residual(state, [](Lane, Lane) {});
        JointSpace<Psf>& space = group_.space();
        const JointImage& image = group_.image();
        clear(space.photons, group_.pixels()), clear(space.start_shape, group_.pixels());
        for (int p = Team::begin(); p < group_.pixels(); p += Team::step) store(space.score + p, splat(least_score));
        Team::sync();
        for (int k = 0; k < Psf::start_candidates; ++k) {
            float theta[P];
            start(k, theta);
            const int reach = least_of(int(3 * group_.widest(theta)) + 1, JointSpace<Psf>::most_reach);
            if constexpr (Psf::separable) {
                set_stencil(theta, reach);
                sum_along(reach, state_plane(1), state_plane(2));
            }
            for (int y = Team::row(); y < image.height; y += Team::row_step)
                for (int x = Team::column(); x < image.width; x += Team::column_step) {
                    Lane residual = Lane{}, information = Lane{};
                    const int first = most_of(-reach, -y), last = least_of(reach, image.height - 1 - y);
                    GLINT_ROLL
                    for (int j = first; j <= last; ++j) {
                        const int p = (y + j) * image.pitch + x;
                        if constexpr (Psf::separable) {
                            const float h = space.down[j + reach];
                            residual += h * load(state_plane(1) + p), information += h * h * load(state_plane(2) + p);
                        } else {
                            add_row(theta, j, reach, x, p, residual, information);
                        }
                    }
                    const int p = y * image.pitch + x;
                    const Lane known = max(information, splat(1e-20f));
                    const Lane z = residual / sqrt(known);
                    const Mask better = z > load(space.score + p);
                    store(space.score + p, select(better, z, load(space.score + p)));
                    store(space.photons + p, select(better, residual / known, load(space.photons + p)));
                    store(space.start_shape + p, select(better, splat(float(k)), load(space.start_shape + p)));
                }
            Team::sync();
        }
        for (int y = Team::row(); y < image.height; y += Team::row_step)
            for (int x = Team::column(); x < image.pitch; x += Team::column_step) {
                const int p = y * image.pitch + x;
                const Lane z = load(space.score + p);
                store(space.score + p, select((z > least_score) & (load(image.searched + p) > 0.0f), z, Lane{}));
            }
        Team::sync();
    }

    /// The image of a molecule at the centre of a pixel, along x and along y.
    GLINT_INLINE void set_stencil(const float* theta, int reach) const {
        Lane t[P];
        for (int q = 0; q < P; ++q) t[q] = splat(theta[q]);
        const Widths w = group_.psf().widths(t + 4);
        for (int i = Team::begin(); i < 2 * reach + 1; i += Team::step) {
            const Lane at = Team::offsets() + float(i - reach);
            Lane value, unused;
            AxisProfile<false>(Lane{}, w.x, at).next_at(at, value, unused, unused);
            store(group_.space().along + i, value);
            AxisProfile<false>(Lane{}, w.y, at).next_at(at, value, unused, unused);
            store(group_.space().down + i, value);
        }
        Team::sync();
    }

    /// A model's plane that is free while the score is computed.
    GLINT_INLINE float* state_plane(int k) const { return group_.spare(k).mu; }

    /// Sums along x of residual h and weight h^2.
    GLINT_INLINE void sum_along(int reach, float* to_residual, float* to_information) const {
        const JointSpace<Psf>& space = group_.space();
        const JointImage& image = group_.image();
        for (int y = Team::row(); y < image.height; y += Team::row_step)
            for (int x = Team::column(); x < image.width; x += Team::column_step) {
                const int p = y * image.pitch + x, end = reach_right(x, reach);
                Lane r = Lane{}, w = Lane{};
                GLINT_ROLL
                for (int i = reach_left(x, reach); i <= end; ++i) {
                    const float a = space.along[i + reach];
                    r += a * load(space.residual + p + i), w += a * a * load(space.weight + p + i);
                }
                store(to_residual + p, r), store(to_information + p, w);
            }
        Team::sync();
    }

    /// How far a sum along x goes from column x: to the edge; or beyond, where rows are filled up with pixels that are not
    /// used, since a Lane has several columns.
    static GLINT_INLINE int reach_left(int x, int reach) { return lane_width == 1 ? most_of(-reach, -x) : -reach; }
    GLINT_INLINE int reach_right(int x, int reach) const {
        return lane_width == 1 ? least_of(reach, group_.image().width - 1 - x) : reach;
    }

    /// A row of the image of a model that is no product.
    GLINT_INLINE void add_row(const float* theta, int j, int reach, int x, int p, Lane& residual,
                              Lane& information) const {
        Lane t[P], unused[2 + Image::shapes];
        for (int k = 0; k < P; ++k) t[k] = splat(theta[k]);
        t[1] -= float(j);
        const int end = reach_right(x, reach);
        GLINT_ROLL
        for (int i = reach_left(x, reach); i <= end; ++i) {
            t[0] = splat(-float(i));
            const Lane h = group_.psf().row(t, 0).at(0, unused);
            residual += h * load(group_.space().residual + p + i);
            information += h * h * load(group_.space().weight + p + i);
        }
    }

    /// The best pixel of the score, which is taken out with those around it; false where none is left.
    GLINT_INLINE bool next_candidate(int& x, int& y) {
        JointSpace<Psf>& space = group_.space();
        const JointImage& image = group_.image();
        Lane best = Lane{};
        GLINT_ROLL
        for (int p = Team::begin(); p < group_.pixels(); p += Team::step) best = max(best, load(space.score + p));
        const float most = Team::greatest(best);
        if (!(most > 0)) return false;
        int at = 1 << 30;
        for (int p = Team::begin(); p < group_.pixels(); p += Team::step)
            if (any(load(space.score + p) == splat(most))) {
                at = p;
                break;
            }
        while (lane_width > 1 && space.score[at] != most) ++at;
        at = -int(Team::greatest(splat(float(-at))));
        Team::sync();
        y = at / image.pitch, x = at % image.pitch;
        for (int j = most_of(0, y - 1); j <= least_of(image.height - 1, y + 1); ++j)
            for (int i = most_of(0, x - 1); i <= least_of(image.width - 1, x + 1); ++i)
                space.score[j * image.pitch + i] = 0;
        Team::sync();
        return true;
    }

    /// Adds molecules, one by one, where the score is highest. Whether any has earned its place.
    GLINT_JOINT_CALL bool add(JointState& state) {
        bool added = false;
        while (state.count < group_.numbers().most_emitters && add_one(state)) added = true;
        return added;
    }

    GLINT_INLINE bool add_one(JointState& state) {
        score(state);
        JointSpace<Psf>& space = group_.space();
        int x, y;
        for (int tries = 0; tries < most_tries && next_candidate(x, y); ++tries) {
            const int p = y * group_.image().pitch + x;
            JointState next = group_.spare(1);
            JointGroup<Psf>::copy(state, next);
            float added[most_parameters] = {};
            start(int(space.start_shape[p]), added);
            added[0] = float(x), added[1] = float(y), added[2] = most_of(space.photons[p], 50.0f);
            const float limit = threshold(state, added, -1);
            // From a neighbour within two widths it takes two fifths of the photons: they were one to the fit so far.
            const int nearest = nearest_to(state, added, -1);
            move_around(state, state.count, added);
            if (nearest >= 0 && distance(state.of(nearest), added) < 2.3f * group_.widest(state.of(nearest))) {
                const float photons = state.of(nearest)[2];
                added[2] = most_of(added[2], split * photons);
                next.of(nearest)[2] = photons * (1 - split);
            }
            for (int k = Team::rank(); k < most_parameters; k += Team::size) next.of(state.count)[k] = added[k];
            next.count = state.count + 1;
            group_.move_also(state.count);
            Team::sync();
            const float gain = group_.fit(next, state.mu, roughly,
                                          least_of(most_of_a_try, group_.numbers().max_iterations), limit / 2);
            group_.spare(1) = next;
            if (!(2 * gain > limit)) continue;
            JointGroup<Psf>::swap(state, group_.spare(1));
            return true;
        }
        return false;
    }

    /// Of the molecules but one; -1 where there is none.
    static GLINT_INLINE int nearest_to(const JointState& state, const float* at, int but) {
        int nearest = -1;
        float least = 0;
        for (int e = 0; e < state.count; ++e) {
            const float x = state.of(e)[0] - at[0], y = state.of(e)[1] - at[1], d = x * x + y * y;
            if (e != but && (nearest < 0 || d < least)) nearest = e, least = d;
        }
        return nearest;
    }

    /// A plane in place of the flat background, where the likelihood asks for it; the search that fills a slope with
    /// molecules comes first, since a molecule that is missing tilts as well. Whether it does.
    GLINT_JOINT_CALL bool tilt(JointState& state) {
        const float limit = group_.numbers().least_tilt_gain;
        if (!(group_.gain_of_tilt(state) > hopeful * limit)) return false;
        JointState next = group_.spare(1);
        JointGroup<Psf>::copy(state, next);
        group_.move_all(next);
        group_.tilt();
        const float gain = group_.fit(next, state.mu, 0, group_.numbers().max_iterations, limit / 2);
        group_.spare(1) = next;
        if (!(2 * gain > limit)) {
            group_.level();
            return false;
        }
        JointGroup<Psf>::swap(state, group_.spare(1));
        return true;
    }

    /// Removes a molecule that is missed less than its threshold; false where there is none. Only who is close to another,
    /// or dim, is in doubt: to try each would cost as much as to find it.
    GLINT_JOINT_CALL bool remove_one(JointState& state, JointResult& found) {
        for (int e = 0; e < state.count; ++e) {
            const float* one = state.of(e);
            const int nearest = nearest_to(state, one, e);
            const bool close = nearest >= 0 && distance(state.of(nearest), one) < 1.5f * group_.widest(one);
            const bool dim = one[2] < doubtful * found.crlb[e][2];
            if (!close && !dim) continue;
            JointState next = group_.spare(1);
            next.count = state.count - 1;
            JointGroup<Psf>::copy_background(state, next);
            for (int k = Team::rank(); k < next.count * most_parameters; k += Team::size)
                next.theta[k] = state.theta[k < e * most_parameters ? k : k + most_parameters];
            Team::sync();
            // The nearest one gets its photons, if it is near.
            if (close) next.of(nearest < e ? nearest : nearest - 1)[2] = state.of(nearest)[2] + one[2];
            Team::sync();
            move_around(next, next.count, one);
            const float limit = threshold(state, one, e);
            const float loss = -group_.fit(next, state.mu, roughly, group_.numbers().max_iterations, -limit / 2);
            group_.spare(1) = next;
            if (2 * loss > limit) continue;
            JointGroup<Psf>::swap(state, group_.spare(1));
            forget(found, e, state.count);
            return true;
        }
        return false;
    }

    /// The precision of the `left` that stay moves up.
    static GLINT_INLINE void forget(JointResult& found, int e, int left) {
        for (int k = Team::rank(); k < P; k += Team::size)
            for (int o = e; o < left; ++o) found.crlb[o][k] = found.crlb[o + 1][k];
        Team::sync();
    }

    JointGroup<Psf>& group_;
};

/// Fits the group in `result`; with image.searched, finds the molecules that are missing.
template <class Psf>
GLINT_INLINE void search_together(const Psf& psf, const JointNumbers& numbers, const JointImage& image,
                                  JointSpace<Psf>& space, JointResult& result) {
    JointGroup<Psf> group(image, psf, numbers, space);
    JointState state = space.states[0];
    state.count = result.count, state.bg = result.bg;
    for (int k = 0; k < 2; ++k) state.tilt[k] = result.tilt[k];
    if (state.tilt[0] != 0 || state.tilt[1] != 0) group.tilt();
    for (int e = Team::rank(); e < state.count; e += Team::size)
        for (int k = 0; k < JointGroup<Psf>::P; ++k) state.of(e)[k] = result.theta[e][k];
    Team::sync();
    JointSearch<Psf> search(group);
    if (image.searched) return search.run(state, result);
    search.fit_all(state, 0);
    group.finish(state, result);
}

}  // namespace glint::GLINT_ISA
