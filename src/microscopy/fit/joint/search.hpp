// The search for molecules that the detection did not separate: adds molecules from the residual, and removes
// insignificant ones (docs/explanation/theory.md, section 10).
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/joint/splits.hpp"

namespace glint::GLINT_ISA {

template <class Psf>
class JointSearch : public JointTries<Psf> {
  public:
    GLINT_INLINE explicit JointSearch(JointGroup<Psf>& group) : JointTries<Psf>(group), splits_(group) {}
    using JointTries<Psf>::fit_all;

    /// Finds all molecules from those of `state`. Leaves the number, the parameters and their precision in `out`.
    GLINT_INLINE void run(JointState& state, JointResult& out) {
        if constexpr (has_other_shapes && !Psf::separable)
            if (state.count > 1) state.count = 0;  // parts of a spot may have been detected as spots
        fit_all(state, out);
        complete(state, out);
        if (!group_.tilted() && tilt(state, out)) complete(state, out);
        leave_out_strays(state, out);
        group_.finish(state, out);
        bool removed = false;
        while (state.count > 0 && remove_one(state, out)) removed = true;
        if (!removed) return;
        fit_all(state, out);
        group_.finish(state, out);
    }

  private:
    using Tries = JointTries<Psf>;
    using Image = typename JointGroup<Psf>::Image;
    using Tries::group_, Tries::P, Tries::has_start_shapes, Tries::has_other_shapes, Tries::max_try_gain,
        Tries::distance, Tries::start;
    static constexpr float min_score = 3;           // standard errors; the likelihood decides
    static constexpr int max_tries = 4;             // places
    static constexpr int max_restarts = 16;         // in rounds; groups of real movies need fewer
    static constexpr float given = 0.4f;            // share of a neighbour's photons
    static constexpr float doubtful = 8;            // standard errors of N
    static constexpr float doubtful_share = 0.25f;  // share of its photons that the misfit of other molecules explains
    static constexpr float hopeful = 0.25f;
    static constexpr int stray_px = 3;  // less than the edge of a window
    // Two molecules that are really one molecule with another shape are farther apart.
    static constexpr float close_widths = has_start_shapes ? 2 : 1.5f;

    /// Removes the molecules that have moved far outside the searched area, and fits the remaining molecules again.
    /// Such a molecule can have any number of photons. It explained light of another group's molecules, and took light
    /// from its own neighbours.
    GLINT_INLINE void leave_out_strays(JointState& state, JointResult& out) {
        int kept = 0;
        for (int e = 0; e < state.count; ++e) {
            if (is_stray(state.of(e))) continue;
            if (kept++ == e) continue;
            Team::sync();
            this->set(state, kept - 1, state.of(e));
            Team::sync();
        }
        if (kept == state.count) return;
        state.count = kept;
        fit_all(state, out);
    }
    /// Returns true if no pixel within stray_px along x and y is searched.
    GLINT_INLINE bool is_stray(const float* at) const {
        const JointImage& image = group_.image();
        const int x = floor_of(at[0] + 0.5f), y = floor_of(at[1] + 0.5f);
        for (int j = -stray_px; j <= stray_px; j += stray_px)
            for (int i = -stray_px; i <= stray_px; i += stray_px) {
                const int row = within(y + j, 0, image.height - 1), column = within(x + i, 0, image.width - 1);
                if (image.searched[row * image.pitch + column] > 0) return false;
            }
        return true;
    }

    /// Adds and splits molecules until neither improves the fit, or a limit is reached: on light that does not resemble
    /// molecules, restarts may improve it without end.
    GLINT_INLINE void complete(JointState& state, JointResult& out) {
        for (int round = 0; round < state.count + max_restarts; ++round) {
            while (add(state)) fit_all(state, out);
            if (!splits_.run(state, out)) return;
        }
    }

    /// Computes for each pixel the score of an additional molecule (eq. 10.3), the photons it would have, and its start
    /// shape. The score is 0 in pixels that are not searched.
    GLINT_JOINT_CALL void score(JointState& state) {
        group_.set_residual(state, [](Lane, Lane) {});
        JointSpace<Psf>& space = group_.space();
        const JointImage& image = group_.image();
        clear(space.photons, group_.pixels()), clear(space.start_shape, group_.pixels());
        for (int p = Team::begin(); p < group_.pixels(); p += Team::step) store(space.score + p, splat(min_score));
        Team::sync();
        for (int k = 0; k < Psf::start_candidates; ++k) {
            float theta[P];
            start(k, theta);
            const int reach = min_of(int(3 * group_.widest(theta)) + 1, JointSpace<Psf>::max_reach);
            set_stencil(theta, reach);
            if constexpr (Psf::separable) sum_along(reach, state_plane(1), state_plane(2));
            for (int y = Team::row(); y < image.height; y += Team::row_step)
                for (int x = Team::column(); x < image.width; x += Team::column_step) {
                    Lane residual = Lane{}, information = Lane{};
                    const int first = max_of(-reach, -y), last = min_of(reach, image.height - 1 - y);
                    GLINT_ROLL
                    for (int j = first; j <= last; ++j) {
                        const int p = (y + j) * image.pitch + x;
                        if constexpr (Psf::separable) {
                            const float h = space.down[j + reach];
                            residual += h * load(state_plane(1) + p), information += h * h * load(state_plane(2) + p);
                        } else {
                            add_row(j, reach, x, p, residual, information);
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
                store(space.score + p, select((z > min_score) & (load(image.searched + p) > 0.0f), z, Lane{}));
            }
        Team::sync();
    }

    /// Sets the image of a molecule at the centre of a pixel: along x and along y, or row by row if the model is not a
    /// product.
    GLINT_INLINE void set_stencil(const float* theta, int reach) const {
        Lane t[P];
        for (int q = 0; q < P; ++q) t[q] = splat(theta[q]);
        if constexpr (!Psf::separable) {
            const int edge = 2 * reach + 1;
            Lane unused[2 + Image::shapes];
            for (int i = Team::begin(); i < edge * edge; i += Team::step) {
                const Lane at = Team::offsets() + float(i);
                const Lane row = to_float(to_int((at + 0.5f) * (1.0f / float(edge))));
                t[0] = float(reach) - (at - row * float(edge)), t[1] = float(reach) - row;
                store(group_.space().down + i, group_.psf().row(t, 0).at(0, unused));
            }
            Team::sync();
            return;
        }
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

    /// Returns a plane of a model that is not needed while the score is computed.
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

    /// Returns how far a sum along x extends from column x: to the edge. If a Lane has several columns, it extends
    /// farther, because rows are padded with unused pixels.
    static GLINT_INLINE int reach_left(int x, int reach) { return lane_width == 1 ? max_of(-reach, -x) : -reach; }
    GLINT_INLINE int reach_right(int x, int reach) const {
        return lane_width == 1 ? min_of(reach, group_.image().width - 1 - x) : reach;
    }

    /// Adds a row of the image of a model that is not a product.
    GLINT_INLINE void add_row(int j, int reach, int x, int p, Lane& residual, Lane& information) const {
        const float* row = group_.space().down + (j + reach) * (2 * reach + 1) + reach;
        const int end = reach_right(x, reach);
        GLINT_ROLL
        for (int i = reach_left(x, reach); i <= end; ++i) {
            const float h = row[i];
            residual += h * load(group_.space().residual + p + i);
            information += h * h * load(group_.space().weight + p + i);
        }
    }

    /// Finds the pixel with the best score, and clears the score there and in its surroundings. Returns false if none
    /// is left.
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
        for (int j = max_of(0, y - 1); j <= min_of(image.height - 1, y + 1); ++j)
            for (int i = max_of(0, x - 1); i <= min_of(image.width - 1, x + 1); ++i)
                space.score[j * image.pitch + i] = 0;
        Team::sync();
        return true;
    }

    /// Adds molecules one by one at the highest score. Returns true if any of them was significant.
    GLINT_JOINT_CALL bool add(JointState& state) {
        bool added = false;
        while (state.count < group_.numbers().max_emitters && add_one(state)) added = true;
        return added;
    }

    GLINT_INLINE bool add_one(JointState& state) {
        score(state);
        JointSpace<Psf>& space = group_.space();
        int x, y;
        for (int tries = 0; tries < max_tries && next_candidate(x, y);) {
            const int p = y * group_.image().pitch + x;
            float added[max_psf_parameters] = {};
            start(int(space.start_shape[p]), added);
            added[0] = float(x), added[1] = float(y), added[2] = space.photons[p];
            if (this->threshold_of_photons(state, added, -1) >= this->impossible) continue;
            ++tries;
            JointState next = this->spare_of(state);
            added[2] = max_of(added[2], 50.0f);
            const float limit = this->threshold(state, added, -1);
            // A neighbour within two widths gives up two fifths of its photons: so far, the fit treated both as one
            // molecule.
            const int nearest = nearest_to(state, added, -1);
            this->move_around(state, state.count, added);
            if (nearest >= 0 && distance(state.of(nearest), added) < 2.3f * group_.widest(state.of(nearest))) {
                const float photons = state.of(nearest)[2];
                added[2] = max_of(added[2], given * photons);
                next.of(nearest)[2] = photons * (1 - given);
            }
            this->set(next, state.count, added);
            next.count = state.count + 1;
            group_.move_also(state.count);
            const float gain = this->gain_of(next, state, limit, max_try_gain);
            if (!(gain > limit) || this->is_explained(gain, state.count)) continue;
            this->accept(state);
            return true;
        }
        return false;
    }

    /// Returns the molecule nearest to `at`, other than `but`; -1 if there is none.
    static GLINT_INLINE int nearest_to(const JointState& state, const float* at, int but) {
        int nearest = -1;
        float least = 0;
        for (int e = 0; e < state.count; ++e) {
            const float x = state.of(e)[0] - at[0], y = state.of(e)[1] - at[1], d = x * x + y * y;
            if (e != but && (nearest < 0 || d < least)) nearest = e, least = d;
        }
        return nearest;
    }

    /// Returns the minimum gain of a tilted background. With a lone molecule, a PSF that differs from the model leaves
    /// residuals that a plane may fit, in proportion to the photons.
    GLINT_INLINE float min_gain_of_tilt(const JointState& state) const {
        const JointNumbers& numbers = group_.numbers();
        const float photons = state.count == 1 ? state.of(0)[2] : 0.0f;
        return numbers.min_tilt_gain + 4 * numbers.misfit * numbers.misfit * photons;
    }

    /// Replaces the flat background by a plane if the likelihood supports it; returns whether it does. Called after the
    /// search, which fills a slope with molecules, because a missing molecule looks like a tilt too.
    GLINT_JOINT_CALL bool tilt(JointState& state, JointResult& out) {
        const float limit = min_gain_of_tilt(state);
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
        group_.note_end(out);
        return true;
    }

    /// Removes a molecule whose removal costs less than its threshold. Returns false if there is none. Tries only dim
    /// molecules and molecules close to another one, because trying each would cost as much as finding it.
    GLINT_JOINT_CALL bool remove_one(JointState& state, JointResult& found) {
        for (int e = 0; e < state.count; ++e) {
            const float* one = state.of(e);
            const int nearest = nearest_to(state, one, e);
            float heir[max_psf_parameters] = {};
            if (nearest >= 0) join(one, state.of(nearest), heir);
            const bool close = nearest >= 0 && distance(state.of(nearest), one) < close_widths * group_.widest(heir);
            const bool dim = one[2] < doubtful * found.crlb[e][2];
            const bool satellite = this->explained_photons(state, one, e) > doubtful_share * one[2];
            if (!close && !dim && !satellite) continue;
            JointState next = group_.spare(1);
            next.count = state.count - 1;
            JointGroup<Psf>::copy_background(state, next);
            for (int k = Team::rank(); k < next.count * max_psf_parameters; k += Team::size)
                next.theta[k] = state.theta[k < e * max_psf_parameters ? k : k + max_psf_parameters];
            Team::sync();
            if (close) this->set(next, nearest < e ? nearest : nearest - 1, heir);
            Team::sync();
            this->move_around(next, next.count, one);
            const float limit = this->threshold_of_photons(state, one, e);
            if (-this->gain_of(next, state, -limit, group_.numbers().max_iterations) > limit) continue;
            this->accept(state);
            forget(found, e, state.count);
            return true;
        }
        return false;
    }

    /// Writes to `heir` the molecule that replaces two molecules: with the sum of their photons, at their centre. Its
    /// shape is that of `to` or a start shape, whichever has the second moments closest to those of the pair.
    GLINT_INLINE void join(const float* one, const float* to, float* heir) const {
        for (int k = 0; k < P; ++k) heir[k] = to[k];
        const float part = one[2] / (one[2] + to[2]), x = one[0] - to[0], y = one[1] - to[1];
        heir[0] += part * x, heir[1] += part * y, heir[2] += one[2];
        if constexpr (has_start_shapes) {
            const Widths a = group_.widths(one), b = group_.widths(to);
            const auto of_both = [=](Lane of_one, Lane of_to, float d) {
                return first_of(part * of_one * of_one + (1 - part) * of_to * of_to) + part * (1 - part) * d * d;
            };
            const float xx = of_both(a.x, b.x, x), yy = of_both(a.y, b.y, y);
            const auto misfit = [&](const float* shape) {
                const Widths w = group_.widths(shape);
                const float by_x = first_of(w.x * w.x) - xx, by_y = first_of(w.y * w.y) - yy;
                return by_x * by_x + by_y * by_y;
            };
            float least = misfit(to);
            for (int k = 0; k < Psf::start_candidates; ++k) {
                float shape[P];
                start(k, shape);
                const float its = misfit(shape);
                if (!(its < least)) continue;
                least = its;
                for (int q = 4; q < P; ++q) heir[q] = shape[q];
            }
        }
    }

    /// Moves the precision of the `left` remaining molecules up.
    static GLINT_INLINE void forget(JointResult& found, int e, int left) {
        for (int k = Team::rank(); k < P; k += Team::size)
            for (int o = e; o < left; ++o) found.crlb[o][k] = found.crlb[o + 1][k];
        Team::sync();
    }

    JointSplits<Psf> splits_;
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
    search.fit_all(state, result);
    group.finish(state, result);
}

}  // namespace glint::GLINT_ISA
