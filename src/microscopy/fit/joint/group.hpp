// A group of molecules: its model, the derivatives, and the steps of a joint fit (theory.md, section 10).
//
// Likelihoods are compared by their difference, summed pixel by pixel. In single precision, the difference of two sums
// would be lost in rounding.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/goodness.hpp"
#include "fit/joint/image_sums.hpp"
#include "fit/joint/matrix.hpp"
#include "fit/joint/space.hpp"
#include "fit/kernel/group.hpp"

namespace glint::GLINT_ISA {

template <class Psf>
class JointGroup {
  public:
    using Image = EmitterImage<Psf>;
    static constexpr int shapes = Image::shapes, each = Image::each, P = Image::P;
    static_assert(each <= max_psf_parameters - 1);

    GLINT_INLINE JointGroup(const JointImage& image, const Psf& psf, const JointNumbers& numbers,
                            JointSpace<Psf>& space)
        : image_(image), psf_(psf), numbers_(numbers), space_(space), spare_{space.states[1], space.states[2]} {
        // The margins between rows, before the first row and after the last one count as unused pixels.
        constexpr int margin = JointSpace<Psf>::margin;
        clear(space.residual - margin, pixels() + 2 * margin), clear(space.weight - margin, pixels() + 2 * margin);
        Lane least = splat(-1e30f);
        for_pixels([&](int p) {
            const Lane f = load(image.per_photon + p);
            least = select(f > 0.0f, max(least, (model_floor - load(image.known + p)) / f), least);
        });
        Team::sync();
        min_bg_ = Team::greatest(least);
    }

    GLINT_INLINE int pixels() const { return image_.pitch * image_.height; }
    /// Calls act(p) for some pixels from p on, until the team has visited all pixels within the width.
    template <class Act>
    GLINT_INLINE void for_pixels(const Act& act) const {
        const int width = image_.width, height = image_.height, pitch = image_.pitch;  // copies: stores may alias them
        GLINT_ROLL
        for (int y = Team::row(); y < height; y += Team::row_step) {
            GLINT_ROLL
            for (int x = Team::column(); x < width; x += Team::column_step) act(y * pitch + x);
        }
    }

    /// Calls act(p, x, y) with the pixel's position relative to the image's centre, px.
    template <class Act>
    GLINT_INLINE void for_places(const Act& act) const {
        const int width = image_.width, height = image_.height, pitch = image_.pitch;
        GLINT_ROLL
        for (int y = Team::row(); y < height; y += Team::row_step) {
            GLINT_ROLL
            for (int x = Team::column(); x < width; x += Team::column_step)
                act(y * pitch + x, Team::offsets() + (float(x) - 0.5f * float(width - 1)),
                    float(y) - 0.5f * float(height - 1));
        }
    }

    /// Marks the molecules that the next fit moves; all other molecules stay fixed.
    GLINT_INLINE void move_all(const JointState& state) {
        moving_ = state.count;
        for (int e = Team::rank(); e < moving_; e += Team::size) space_.which[e] = e;
        Team::sync();
    }
    GLINT_INLINE void move_none() { moving_ = 0; }
    GLINT_INLINE void move_also(int e) { space_.which[moving_++] = e; }

    /// Makes the background a plane from now on.
    GLINT_INLINE void tilt() { background_ = 3; }
    GLINT_INLINE void level() { background_ = 1; }
    GLINT_INLINE bool tilted() const { return background_ > 1; }
    /// Returns twice the gain of log L by a tilted background with unchanged molecules, in quadratic approximation.
    /// Requires the state's model.
    GLINT_INLINE float gain_of_tilt(const JointState& state) {
        Lane gx = Lane{}, gy = Lane{}, xx = Lane{}, xy = Lane{}, yy = Lane{};
        set_residual(state, [](Lane, Lane) {});
        for_places([&](int p, Lane x, float y) {
            const Lane r = load(space_.residual + p), w = load(space_.weight + p);
            gx += r * x, gy += r * y, xx += w * x * x, xy += w * x * y, yy += w * (y * y);
        });
        const float g[2] = {Team::sum(gx), Team::sum(gy)}, a = Team::sum(xx), b = Team::sum(xy), c = Team::sum(yy);
        const float determinant = a * c - b * b;
        return determinant > 0 ? (c * g[0] * g[0] - 2 * b * g[0] * g[1] + a * g[1] * g[1]) / determinant : 0.0f;
    }

    GLINT_INLINE Widths widths(const float* theta) const {
        Lane t[P];
        for (int k = 0; k < P; ++k) t[k] = splat(theta[k]);
        return psf_.widths(t + 4);
    }
    GLINT_INLINE float widest(const float* theta) const {
        const Widths w = widths(theta);
        return max_of(first_of(w.x), first_of(w.y));
    }

    /// Fits molecules and background from their present values by damped Fisher scoring; the likelihood rises with each
    /// step. Returns the log-likelihood relative to that of the model `before`. The fit ends
    /// - after a step that gains less than `min_gain` or is shorter than the tolerance,
    /// - after `max_iterations` steps, or
    /// - if `needed` exceeds the gain by more than four times what the step promises.
    GLINT_JOINT_CALL float fit(JointState& state, const float* before, float min_gain, int max_iterations,
                               float needed = -1e30f) {
        state.bg = max_of(state.bg, min_bg_);
        for (int m = Team::rank(); m < moving_; m += Team::size) keep_within_bounds(state.of(space_.which[m]));
        Team::sync();
        sum_fixed(state);
        float gained = evaluate(state, 0, before);
        float damping = first_damping;
        JointState next = spare(2);
        int bank = 0;
        converged_ = false;
        bool factored = false;  // the matrix of an earlier step
        float slope = 0;        // along the last step, where it began
        float part = 1;         // fraction of the step that is taken
        for (int m = Team::rank(); m < moving_; m += Team::size) space_.last_step[m] = 1e30f;
        for (iterations_ = 1; iterations_ <= max_iterations && !converged_; ++iterations_) {
            if (factored)
                find_gradient(state, bank);
            else
                differentiate(state, bank);
            // If the slope along the last step changed its sign, the step was too long, and the secant gives the right
            // length. If more than half of the slope remains, it was too short, and this step is doubled.
            const float after = slope > 0 ? slope_along_step() : 0;
            const bool was_doubled = part > 1;
            part = 1;
            if (-overshot * after > slope) part = slope / (slope - after);
            if (factored && !was_doubled && 2 * after > slope) part = 2;
            bool rose = false;
            for (int attempt = 0; attempt < max_attempts && !rose; ++attempt) {
                if (!factored && !decompose_fisher(damping)) {
                    damping *= 5;
                    continue;
                }
                const float promised = find_step();
                if (damping < little_damping && gained + 4 * promised < needed) break;
                if (part != 1) stretch_step(part);
                take_step(state, next);
                const float gain = evaluate(next, 1 - bank, state.mu);
                if (!(gain >= -lost_in_rounding)) {
                    damping *= 5;
                    part = min_of(part, 1.0f);
                    if (factored) differentiate(state, bank), factored = false;
                    continue;
                }
                rose = true, slope = 2 * part * promised;
                const float longest = longest_step(state, next);
                converged_ = longest < numbers_.tolerance || gain < min_gain;
                factored = longest < short_step && damping <= first_damping && !any_at_bound(next);
                gained += gain;
                swap(state, next);
                bank = 1 - bank;
                damping = max_of(damping * 0.2f, 1e-9f);
            }
            if (!rose) {  // no step in this direction raises the likelihood: the maximum, within rounding, or hopeless
                converged_ = damping < 1e6f;
                break;
            }
        }
        spare(2) = next;
        return gained;
    }

    /// Records how the last fit, in which all molecules moved, has ended.
    GLINT_INLINE void note_end(JointResult& out) const {
        out.iterations = iterations_, out.converged = converged_;
        for (int e = Team::rank(); e < moving_; e += Team::size)
            out.settled[e] = converged_ || space_.last_step[e] < numbers_.tolerance;
        Team::sync();
    }

    /// Writes the state, whose model is set, and its precision, goodness and bounds to `out`.
    GLINT_JOINT_CALL void finish(JointState& state, JointResult& out) {
        move_all(state);
        place_moving(state, 0);  // the images may be those of a trial
        differentiate(state, 0);
        out.singular = !decompose_fisher(0);
        if (!out.singular) inverse_diagonal(factor(), space_.inverse_pivot, fisher(), space_.diagonal);
        const auto crlb = [&](int k) { return out.singular ? 0.0f : root_of(space_.diagonal[k]) * space_.scale[k]; };
        out.count = state.count, out.bg = state.bg, out.bg_crlb = crlb(0);
        for (int k = 0; k < 2; ++k) out.tilt[k] = state.tilt[k];
        for (int e = 0; e < state.count; ++e) {
            const float* t = state.of(e);
            for (int k = 0; k < P; ++k) out.theta[e][k] = t[k];
            out.theta[e][3] = state.bg + state.tilt[0] * (t[0] - 0.5f * float(image_.width - 1)) +
                              state.tilt[1] * (t[1] - 0.5f * float(image_.height - 1));
            for (int k = 0; k < each; ++k) out.crlb[e][parameter(k)] = crlb(index(e, k));
            out.at_bound[e] = is_at_bound(t, 2);
        }
        switch (image_.noise) {
            case JointNoise::ideal: sum_goodness<PixelNoise::ideal>(state, out); break;
            case JointNoise::poisson: sum_goodness<PixelNoise::poisson>(state, out); break;
            case JointNoise::multiplied: sum_goodness<PixelNoise::multiplied>(state, out); break;
        }
        Team::sync();
    }

    /// Computes r f and f^2 / mu' of each pixel, writes them to space().residual and weight, and passes them to act().
    template <class Act>
    GLINT_INLINE void set_residual(const JointState& state, const Act& act) {
        const float *mu = state.mu, *per_photon = image_.per_photon, *data = image_.data;
        float *to_residual = space_.residual, *to_weight = space_.weight;
        for_pixels([=, &act](int p) {
            const Lane r_m = reciprocal(load(mu + p)), f = load(per_photon + p);
            const Lane weighted = f * r_m;
            const Lane residual = load(data + p) * weighted - f, weight = f * weighted;
            store(to_residual + p, residual), store(to_weight + p, weight);
            act(residual, weight);
        });
        Team::sync();
    }

    /// Returns true if any of a molecule's parameters from the k-th on is at a bound.
    GLINT_INLINE bool is_at_bound(const float* theta, int k = 0) const {
        for (; k < each; ++k) {
            const Interval limit = bounds(k);
            const float at = theta[parameter(k)];
            if (at <= first_of(limit.low) || at >= first_of(limit.high)) return true;
        }
        return false;
    }

    /// Computes the k-th image of a bank for the molecule at theta. Called by one warp.
    GLINT_INLINE void place(const float* theta, int bank, int k) {
        space_.images[bank][k].place(psf_, theta, image_.width, image_.height, profiles(bank, k));
    }

    GLINT_INLINE JointSpace<Psf>& space() { return space_; }
    /// Returns an additional state: the first for trials, the second for a fit's next step.
    GLINT_INLINE JointState& spare(int k) { return spare_[k - 1]; }
    GLINT_INLINE const JointImage& image() const { return image_; }
    GLINT_INLINE const JointNumbers& numbers() const { return numbers_; }
    GLINT_INLINE const Psf& psf() const { return psf_; }

    static GLINT_INLINE void copy(const JointState& from, JointState& to) {
        to.count = from.count;
        copy_background(from, to);
        for (int k = Team::rank(); k < from.count * max_psf_parameters; k += Team::size) to.theta[k] = from.theta[k];
        Team::sync();
    }
    static GLINT_INLINE void copy_background(const JointState& from, JointState& to) {
        to.bg = from.bg, to.tilt[0] = from.tilt[0], to.tilt[1] = from.tilt[1];
    }
    static GLINT_INLINE void swap(JointState& a, JointState& b) {
        const JointState kept = a;
        a = b, b = kept;
    }

  private:
    static constexpr int max_attempts = 8;
    static constexpr float first_damping = 1e-3f, little_damping = 0.1f;
    static constexpr float overshot = 4;    // 1 / 4 of the former slope, as in the kernel
    static constexpr float short_step = 1;  // standard errors: after shorter steps, the matrix is kept
    static constexpr float reach_widths = 3;
    static constexpr float longest_step_px = 0.7f;    // of a position
    static constexpr float lost_in_rounding = 1e-4f;  // of a sum of thousands of pixels

    /// Index of a moving molecule's parameter in the matrix: x, y, N, shape. The background, with its tilt, comes
    /// first.
    GLINT_INLINE int index(int m, int k) const { return background_ + m * each + k; }
    /// Returns the parameter's index in theta.
    static GLINT_INLINE int parameter(int k) { return k < 3 ? k : k + 1; }
    GLINT_INLINE SquareMatrix matrix(float* values) const {
        const int order = background_ + moving_ * each;
        return {values, order, rounded_up(order)};
    }
    GLINT_INLINE SquareMatrix fisher() const { return matrix(space_.fisher); }
    GLINT_INLINE SquareMatrix factor() const { return matrix(space_.factor); }

    GLINT_INLINE float* profiles(int bank, int m) const {
        return space_.profiles[bank] + ptrdiff_t(m) * Image::space(image_.pitch, image_.height);
    }

    /// Sums everything that does not move, except the background, into space().fixed.
    GLINT_INLINE void sum_fixed(const JointState& state) {
        for_pixels([&](int p) { store(space_.fixed + p, load(image_.known + p)); });
        if (moving_ == state.count) return;
        constexpr int bank = 1;  // the first that a fit writes is 0
        const auto for_fixed = [&](const auto& act) {
            for (int e = 0, next = 0; e < state.count; ++e)
                if (next < moving_ && space_.which[next] == e)
                    ++next;
                else
                    act(e);
        };
        Team::sync();
        int k = 0;
        for_fixed([&](int e) {
            if (k++ % Team::warps == Team::warp()) place(state.of(e), bank, e);
        });
        Team::sync();
        for_fixed([&](int e) { space_.images[bank][e].add_to(space_.fixed, state.of(e)[2], image_); });
    }

    /// Computes the profiles of the moving molecules in `bank`.
    GLINT_INLINE void place_moving(const JointState& state, int bank) {
        for (int m = Team::warp(); m < moving_; m += Team::warps) place(state.of(space_.which[m]), bank, m);
        Team::sync();
    }

    /// Computes the state's model, with the profiles of the moving molecules in `bank`. Returns the log-likelihood
    /// relative to the model `before`; 0 if it is null.
    GLINT_INLINE float evaluate(JointState& state, int bank, const float* before) {
        place_moving(state, bank);
        float* mu = state.mu;
        const float *fixed = space_.fixed, *per_photon = image_.per_photon, *data = image_.data, bg = state.bg;
        if (tilted()) {
            const float along = state.tilt[0], down = state.tilt[1];
            for_places([=](int p, Lane x, float y) {
                store(mu + p, load(fixed + p) + (along * x + (bg + down * y)) * load(per_photon + p));
            });
        } else {
            for_pixels([=](int p) { store(mu + p, load(fixed + p) + bg * load(per_photon + p)); });
        }
        for (int m = 0; m < moving_; ++m) space_.images[bank][m].add_to(mu, state.of(space_.which[m])[2], image_);
        Lane gain = Lane{};
        for_pixels([=, &gain](int p) {
            const Lane m = max(load(mu + p), splat(model_floor));
            store(mu + p, m);
            if (!before) return;
            const Lane was = load(before + p), more = m - was;
            gain += load(data + p) * log1p(more * reciprocal(was)) - more;
        });
        return Team::sum(gain);
    }

    /// Computes gradient and Fisher matrix (eq. 3.1 and 3.2; upper triangle) of the moving parameters, with their
    /// profiles in `bank`.
    GLINT_INLINE void differentiate(const JointState& state, int bank) {
        const SquareMatrix to = fisher();
        clear(to.values, to.order * to.pitch), clear(space_.gradient, to.pitch), clear(space_.scale, to.pitch);
        Lane residual = Lane{}, weight = Lane{};
        set_residual(state, [&](Lane r, Lane w) { residual += r, weight += w; });
        space_.gradient[0] = Team::sum(residual), to.row(0)[0] = Team::sum(weight);
        if (tilted()) add_tilt();
        const Image* images = space_.images[bank];
        for (int m = 0, k = 0; m < moving_; ++m) {
            if (k++ % Team::warps == Team::warp()) {
                add_own(images[m], m);
                if (tilted()) add_tilt(images[m], m);
            }
            for (int o = 0; o < m; ++o)
                if (k++ % Team::warps == Team::warp() && interact(state, images, m, o))
                    add_pair(images[m], m, images[o], o);
        }
        Team::sync();
        for (int k = Team::rank(); k < to.order; k += Team::size) {
            space_.scale[k] = to.row(k)[k];
            if (is_pushed_outward(state, k)) hold(k);
        }
        Team::sync();
        for (int k = Team::begin(); k < to.pitch; k += Team::step) {
            const Lane diagonal = load(space_.scale + k);
            const Mask used = Team::offsets() + float(k) < float(to.order);
            store(space_.scale + k, select(used, 1.0f / sqrt(max(diagonal, splat(1e-12f))), Lane{}));
        }
        Team::sync();
    }

    /// Computes only the gradient; the matrix is unchanged.
    GLINT_INLINE void find_gradient(const JointState& state, int bank) {
        Lane residual = Lane{};
        set_residual(state, [&](Lane r, Lane) { residual += r; });
        space_.gradient[0] = Team::sum(residual);
        if (tilted()) {
            Lane along = Lane{}, down = Lane{};
            for_places([&](int p, Lane x, float y) {
                const Lane r = load(space_.residual + p);
                along += r * x, down += r * y;
            });
            space_.gradient[1] = Team::sum(along), space_.gradient[2] = Team::sum(down);
        }
        const Image* images = space_.images[bank];
        for (int m = Team::warp(); m < moving_; m += Team::warps) {
            using Gradient = GradientSums<Psf>;
            const Box box = images[m].box();
            if (box.empty()) continue;
            Lane sums[Gradient::count];
            for (Lane& sum : sums) sum = Lane{};
            for (int x = box.x0 + Warp::column(); x < box.x1; x += Warp::column_step)
                Gradient::add(images[m], x, space_.residual, image_.pitch, sums);
            float* to = space_.gradient + index(m, 0);
            Warp::for_sums<Gradient::count>(sums, [=](int k, float sum) { to[k] = sum; });
        }
        Team::sync();
    }

    /// Returns the bounds of the k-th parameter of a molecule.
    GLINT_INLINE Interval bounds(int k) const {
        if (k == 2) return {splat(photons_floor), splat(1e9f)};
        if (k > 2) return psf_.bounds(k - 3);
        const int pixels = k == 0 ? image_.width : image_.height;
        return {splat(-numbers_.margin_px), splat(float(pixels - 1) + numbers_.margin_px)};
    }
    GLINT_INLINE bool any_at_bound(const JointState& state) const {
        bool any = state.bg <= min_bg_;
        for (int m = 0; m < moving_ && !any; ++m) any = is_at_bound(state.of(space_.which[m]));
        return any;
    }

    /// Returns true if two moving molecules are within three widths of each other. Beyond that, their elements of the
    /// Fisher matrix are less than a hundredth of the diagonal's. They change a precision by less than 1e-4.
    GLINT_INLINE bool interact(const JointState& state, const Image* images, int m, int o) const {
        const float *a = state.of(space_.which[m]), *b = state.of(space_.which[o]);
        const float x = a[0] - b[0], y = a[1] - b[1], reach = reach_widths * (images[m].widest() + images[o].widest());
        return x * x + y * y < reach * reach;
    }

    /// Returns true if the k-th moving parameter is at a bound, and log L increases beyond it.
    GLINT_INLINE bool is_pushed_outward(const JointState& state, int k) const {
        const float slope = space_.gradient[k];
        if (k < background_) return k == 0 && slope < 0 && state.bg <= min_bg_;
        const int of_molecule = (k - background_) % each;
        const Interval limit = bounds(of_molecule);
        const float at = state.of(space_.which[(k - background_) / each])[parameter(of_molecule)];
        return (slope < 0 && at <= first_of(limit.low)) || (slope > 0 && at >= first_of(limit.high));
    }
    /// Removes a parameter from the system, as the kernel does. If only the step were clipped, the other parameters
    /// would move as if this one had moved too.
    GLINT_INLINE void hold(int k) const {
        const SquareMatrix to = fisher();
        space_.gradient[k] = 0;
        for (int i = 0; i < k; ++i) to.row(i)[k] = 0;
        for (int i = k + 1; i < to.order; ++i) to.row(k)[i] = 0;
    }

    GLINT_INLINE void add_own(const Image& image, int m) {
        using Elements = OwnSums<Psf>;
        const Box box = image.box();
        if (box.empty()) return;
        Lane sums[Elements::count];
        for (Lane& sum : sums) sum = Lane{};
        for (int x = box.x0 + Warp::column(); x < box.x1; x += Warp::column_step)
            Elements::add(image, x, space_.residual, space_.weight, image_.pitch, sums);
        const SquareMatrix to = fisher();
        const int first = index(m, 0);
        float* gradient = space_.gradient + first;
        Warp::for_sums<Elements::count>(sums, [=](int k, float sum) {
            if (k < each)
                gradient[k] = sum;
            else if (k < 2 * each)
                to.row(0)[first + k - each] = sum;
            else
                to.row(first + Elements::row(k))[first + Elements::column(k)] = sum;
        });
    }

    /// Adds the tilt's elements: its own, and those with the background.
    GLINT_INLINE void add_tilt() {
        Lane sums[7] = {};
        for_places([&](int p, Lane x, float y) {
            const Lane r = load(space_.residual + p), w = load(space_.weight + p), wx = w * x, wy = w * y;
            sums[0] += r * x, sums[1] += r * y, sums[2] += wx, sums[3] += wy;
            sums[4] += wx * x, sums[5] += wx * y, sums[6] += wy * y;
        });
        float total[7];
        for (int k = 0; k < 7; ++k) total[k] = Team::sum(sums[k]);
        const SquareMatrix to = fisher();
        space_.gradient[1] = total[0], space_.gradient[2] = total[1];
        to.row(0)[1] = total[2], to.row(0)[2] = total[3];
        to.row(1)[1] = total[4], to.row(1)[2] = total[5], to.row(2)[2] = total[6];
    }

    /// Adds the tilt's elements with a molecule.
    GLINT_INLINE void add_tilt(const Image& image, int m) {
        using Tilt = TiltSums<Psf>;
        const Box box = image.box();
        if (box.empty()) return;
        Lane sums[Tilt::count];
        for (Lane& sum : sums) sum = Lane{};
        for (int x = box.x0 + Warp::column(); x < box.x1; x += Warp::column_step)
            Tilt::add(image, x, space_.weight, image_, sums);
        const SquareMatrix to = fisher();
        const int first = index(m, 0);
        Warp::for_sums<Tilt::count>(sums, [=](int k, float sum) { to.row(1 + k / each)[first + k % each] = sum; });
    }

    GLINT_INLINE void add_pair(const Image& a, int m, const Image& b, int o) {
        using Pair = PairSums<Psf>;
        const Box box = overlap(a.box(), b.box());
        if (box.empty()) return;
        Lane sums[Pair::count];
        for (Lane& sum : sums) sum = Lane{};
        for (int x = box.x0 + Warp::column(); x < box.x1; x += Warp::column_step)
            Pair::add(a, b, box, x, space_.weight, image_.pitch, sums);
        const SquareMatrix to = fisher();
        const int row = index(o, 0), column = index(m, 0);
        Warp::for_sums<Pair::count>(sums, [=](int k, float sum) { to.row(row + k % each)[column + k / each] = sum; });
    }

    /// Calls `act`, a template of the executor that computes a system of the moving parameters, and returns its result.
    /// The executor is one warp if that has a member for each parameter, since a warp needs no synchronization.
    template <class Act>
    GLINT_INLINE float by_few(const Act& act) const {
        if (Team::warps == 1 || fisher().order > Warp::size) return act(Team{});
        float result = 0;
        if (Team::warp() == 0) result = act(Warp{});
        return Team::of_first_warp(result);
    }
    GLINT_INLINE bool decompose_fisher(float damping) const {
        return by_few([&](auto who) -> float {
                   return decompose<decltype(who)>(fisher(), space_.scale, damping, factor(), space_.inverse_pivot);
               }) != 0;
    }

    /// Computes the damped step (eq. 10.2) in space().solution. Returns the gain that it promises if log L is
    /// quadratic: half of gradient times step.
    GLINT_INLINE float find_step() const {
        return by_few([&](auto who) -> float {
            using Who = decltype(who);
            solve<Who>(factor(), space_.inverse_pivot, space_.scale, space_.gradient, space_.solution);
            return 0.5f * along_step<Who>();
        });
    }
    GLINT_INLINE float slope_along_step() const {
        return by_few([&](auto who) -> float { return along_step<decltype(who)>(); });
    }
    /// Returns gradient times step.
    template <class Who>
    GLINT_INLINE float along_step() const {
        Lane sum = Lane{};
        const int order = fisher().order;
        for (int k = Who::begin(); k < order; k += Who::step) {
            const Mask used = Who::offsets() + float(k) < float(order);
            sum += select(used, load(space_.gradient + k) * load(space_.solution + k), Lane{});
        }
        return Who::sum(sum);
    }
    GLINT_INLINE void stretch_step(float part) const {
        for (int k = Team::rank(); k < fisher().order; k += Team::size) space_.solution[k] *= part;
        Team::sync();
    }

    GLINT_INLINE void keep_within_bounds(float* theta) const {
        for (int k = 0; k < each; ++k) {
            const Interval limit = bounds(k);
            float& at = theta[parameter(k)];
            at = within(at, first_of(limit.low), first_of(limit.high));
        }
    }

    /// Sets `next` to `state` after the step, within its limits.
    GLINT_INLINE void take_step(const JointState& state, JointState& next) const {
        copy(state, next);
        const float* step = space_.solution;
        next.bg = max_of(state.bg + step[0], min_bg_);
        for (int k = 1; k < background_; ++k) next.tilt[k - 1] = state.tilt[k - 1] + step[k];
        for (int m = Team::rank(); m < moving_; m += Team::size) {
            float* t = next.of(space_.which[m]);
            const float* by = step + index(m, 0);
            Lane shape[P];
            for (int k = 0; k < P; ++k) shape[k] = splat(t[k]);
            for (int k = 0; k < 2; ++k) t[k] += within(by[k], -longest_step_px, longest_step_px);
            const float longest = 0.7f * t[2] + 50;
            t[2] += within(by[2], -longest, longest);
            for (int k = 0; k < shapes; ++k) {
                const float most = first_of(psf_.step_limit(k, shape + 4));
                t[4 + k] += within(by[3 + k], -most, most);
            }
            keep_within_bounds(t);
        }
        Team::sync();
    }

    /// Returns the maximum of |step_k| sqrt(I_kk), as in the kernel. The part that a bound prevents does not count.
    GLINT_INLINE float longest_step(const JointState& state, const JointState& next) {
        const auto apart = [](float a, float b) { return a < b ? b - a : a - b; };
        float longest = apart(next.bg, state.bg) / space_.scale[0];
        for (int k = 1; k < background_; ++k)
            longest = max_of(longest, apart(next.tilt[k - 1], state.tilt[k - 1]) / space_.scale[k]);
        for (int m = Team::rank(); m < moving_; m += Team::size) {
            const int e = space_.which[m];
            float own = 0;
            for (int k = 0; k < each; ++k) {
                const float moved = apart(next.of(e)[parameter(k)], state.of(e)[parameter(k)]);
                own = max_of(own, moved / space_.scale[index(m, k)]);
            }
            space_.last_step[m] = own;
            longest = max_of(longest, own);
        }
        return Team::greatest_of_members(longest);
    }

    template <PixelNoise noise>
    GLINT_INLINE void sum_goodness(const JointState& state, JointResult& out) const {
        Goodness sum;
        Lane used = Lane{};
        for_pixels([&](int p) {
            const Mask counts = load(image_.per_photon + p) > 0.0f;
            Goodness one;
            add_pixel<noise, false>(one, load(image_.data + p), load(state.mu + p), load(image_.variance + p));
            sum.half_deviance += select(counts, one.half_deviance, Lane{});
            sum.mean += select(counts, one.mean, Lane{}), sum.variance += select(counts, one.variance, Lane{});
            used += select(counts, splat(1.0f), Lane{});
        });
        Goodness total;
        total.half_deviance = splat(Team::sum(sum.half_deviance));
        total.mean = splat(Team::sum(sum.mean)), total.variance = splat(Team::sum(sum.variance));
        out.half_deviance = first_of(total.half_deviance);
        out.p_value = first_of(p_value(total, Team::sum(used), float(background_ + state.count * each)));
    }

    const JointImage& image_;
    const Psf& psf_;
    const JointNumbers& numbers_;
    JointSpace<Psf>& space_;
    JointState spare_[2];
    float min_bg_;        // keeps every pixel's model positive, whatever the molecules do
    int background_ = 1;  // number of parameters: 3 for a plane
    int moving_ = 0;
    bool converged_ = false;
    int iterations_ = 0;
};

}  // namespace glint::GLINT_ISA
