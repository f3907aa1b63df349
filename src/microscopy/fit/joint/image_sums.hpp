// Sums over the pixels of one molecule's image, or over the pixels that two images share, by one warp. They are the
// gradient and the elements of the Fisher matrix (docs/explanation/theory.md, eq. 3.1 and 3.2).
//
// If the model is a product of two profiles, its derivatives are sums of products of one along x and one along y. Terms
// that depend on the row are therefore summed over the rows first, with the weights of the pixels. The terms that
// depend on the column are multiplied once afterwards: a third of the operations of a sum over pixels.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/cholesky.hpp"
#include "fit/joint/images.hpp"
#include "fit/kernel/group.hpp"

namespace glint::GLINT_ISA {

/// For one molecule with `each` parameters: the gradient, the products of its slopes with the background's slope, and
/// the products of its slopes with each other (packed).
template <class Psf>
struct OwnSums {
    static constexpr int each = EmitterImage<Psf>::each, count = 2 * each + each * (each + 1) / 2;
    static GLINT_INLINE constexpr int gradient(int k) { return k; }
    static GLINT_INLINE constexpr int by_background(int k) { return each + k; }
    static GLINT_INLINE constexpr int product(int k, int q) { return 2 * each + packed(k, q); }
    /// Row q and column k of product number `at`.
    static GLINT_INLINE constexpr int row(int at) { return at - product(column(at), 0); }
    static GLINT_INLINE constexpr int column(int at) {
        int k = 0;
        GLINT_UNROLL
        for (int next = 1; next < each; ++next) k += at >= product(next, 0);
        return k;
    }

    /// Adds the columns from x on. `residual` and `weight`: of each pixel, in rows that are `pitch` apart.
    static GLINT_INLINE void add(const EmitterImage<Psf>& image, int x, const float* residual, const float* weight,
                                 int pitch, Lane* sums) {
        const Box box = image.box();
        const auto columns = image.columns(x, box.x1);
        if constexpr (Psf::separable) {
            constexpr int profiles = EmitterImage<Psf>::profiles;
            Lane r[profiles], w[profiles], ww[profiles][profiles];
            for (int i = 0; i < profiles; ++i) {
                r[i] = w[i] = Lane{};
                for (int j = 0; j < profiles; ++j) ww[i][j] = Lane{};
            }
            GLINT_ROLL
            for (int y = box.y0 + Warp::row(); y < box.y1; y += Warp::row_step) {
                float down[profiles];
                image.down(y, down);
                const Lane at_r = load(residual + (y * pitch + x)), at_w = load(weight + (y * pitch + x));
                GLINT_UNROLL
                for (int i = 0; i < profiles; ++i) {
                    const Lane weighted = at_w * down[i];
                    r[i] += at_r * down[i], w[i] += weighted;
                    GLINT_UNROLL
                    for (int j = 0; j <= i; ++j) ww[i][j] += weighted * down[j];
                }
            }
            Lane s[each], by[profiles][each];
            image.slopes(columns, r, s);
            for (int k = 0; k < each; ++k) sums[gradient(k)] += s[k];
            image.slopes(columns, w, s);
            for (int k = 0; k < each; ++k) sums[by_background(k)] += s[k];
            GLINT_UNROLL
            for (int i = 0; i < profiles; ++i) {
                Lane row[profiles];
                for (int j = 0; j < profiles; ++j) row[j] = j <= i ? ww[i][j] : ww[j][i];
                image.slopes(columns, row, by[i]);
            }
            GLINT_UNROLL
            for (int q = 0; q < each; ++q) {
                Lane row[profiles];
                for (int i = 0; i < profiles; ++i) row[i] = by[i][q];
                image.slopes(columns, row, s);
                for (int k = q; k < each; ++k) sums[product(k, q)] += s[k];
            }
        } else {
            GLINT_ROLL
            for (int y = box.y0 + Warp::row(); y < box.y1; y += Warp::row_step) {
                const Lane r = load(residual + (y * pitch + x)), w = load(weight + (y * pitch + x));
                Lane s[each];
                image.slopes_at(columns, y, s);
                GLINT_UNROLL
                for (int k = 0; k < each; ++k) {
                    const Lane ws = w * s[k];
                    sums[gradient(k)] += r * s[k], sums[by_background(k)] += ws;
                    GLINT_UNROLL
                    for (int q = 0; q <= k; ++q) sums[product(k, q)] += ws * s[q];
                }
            }
        }
    }
};

/// Computes only the gradient of one molecule.
template <class Psf>
struct GradientSums {
    static constexpr int count = EmitterImage<Psf>::each;

    /// Adds the columns from x on.
    static GLINT_INLINE void add(const EmitterImage<Psf>& image, int x, const float* residual, int pitch, Lane* sums) {
        const Box box = image.box();
        const auto columns = image.columns(x, box.x1);
        Lane s[count];
        if constexpr (Psf::separable) {
            constexpr int profiles = EmitterImage<Psf>::profiles;
            Lane r[profiles];
            for (Lane& one : r) one = Lane{};
            GLINT_ROLL
            for (int y = box.y0 + Warp::row(); y < box.y1; y += Warp::row_step) {
                float down[profiles];
                image.down(y, down);
                const Lane at_r = load(residual + (y * pitch + x));
                GLINT_UNROLL
                for (int i = 0; i < profiles; ++i) r[i] += at_r * down[i];
            }
            image.slopes(columns, r, s);
            for (int k = 0; k < count; ++k) sums[k] += s[k];
        } else {
            GLINT_ROLL
            for (int y = box.y0 + Warp::row(); y < box.y1; y += Warp::row_step) {
                const Lane r = load(residual + (y * pitch + x));
                image.slopes_at(columns, y, s);
                for (int k = 0; k < count; ++k) sums[k] += r * s[k];
            }
        }
    }
};

/// The products of one molecule's slopes with the slopes of a plane: the offsets along x and y from the image's centre.
template <class Psf>
struct TiltSums {
    static constexpr int each = EmitterImage<Psf>::each, count = 2 * each;

    /// Adds the columns from x on.
    static GLINT_INLINE void add(const EmitterImage<Psf>& image, int x, const float* weight, const JointImage& of,
                                 Lane* sums) {
        const Box box = image.box();
        const auto columns = image.columns(x, box.x1);
        const Lane along = columns.at - 0.5f * float(of.width - 1);
        GLINT_ROLL
        for (int y = box.y0 + Warp::row(); y < box.y1; y += Warp::row_step) {
            const Lane w = load(weight + (y * of.pitch + x)), wx = w * along,
                       wy = w * (float(y) - 0.5f * float(of.height - 1));
            Lane s[each];
            image.slopes_at(columns, y, s);
            for (int k = 0; k < each; ++k) sums[k] += wx * s[k], sums[each + k] += wy * s[k];
        }
    }
};

/// Moments of one molecule about its centre, in its widths, of the residual and of the information, each weighted with
/// its image. They show how the shape of its light differs from the image. With residual r, weight w and image h: sums
/// of r h x^i y^j, of w h^2 x^i y^j, and, for models with start shapes, of (r^2 / w - 1) h and 2 h^2.
template <class Psf>
struct MomentSums {
    static constexpr int residual = 0, information = 4;  // sums of 1, xx, xy, yy; and of their products (packed)
    static constexpr int squares = 14, variance = 15, count = 16;

    /// Adds the columns from x on, in `box`.
    static GLINT_INLINE void add(const EmitterImage<Psf>& image, const Box& box, int x, const float* center,
                                 const Widths& width, const float* residuals, const float* weights, int pitch,
                                 Lane* sums) {
        const auto columns = image.columns(x, box.x1);
        const Lane across = (Warp::offsets() + (float(x) - center[0])) / width.x, xx = across * across;
        const float per_px = 1 / first_of(width.y);
        Lane r[3], w[5];
        for (Lane& sum : r) sum = Lane{};
        for (Lane& sum : w) sum = Lane{};
        GLINT_ROLL
        for (int y = box.y0 + Warp::row(); y < box.y1; y += Warp::row_step) {
            const float down = (float(y) - center[1]) * per_px;
            const Lane h = image.value(columns, y);
            const Lane at_r = load(residuals + (y * pitch + x)), at_w = load(weights + (y * pitch + x));
            Lane rh = at_r * h, wh = at_w * h * h;
            GLINT_UNROLL
            for (int k = 0; k < 3; ++k) r[k] += rh, rh *= down;
            GLINT_UNROLL
            for (int k = 0; k < 5; ++k) w[k] += wh, wh *= down;
            if constexpr (Psf::start_candidates > 1) {
                const Lane used = select(at_w > 0.0f, h, Lane{});
                sums[squares] += used * (at_r * at_r / max(at_w, splat(1e-20f)) - 1.0f);
                sums[variance] += 2.0f * used * used;
            }
        }
        const Lane of_residual[] = {r[0], xx * r[0], across * r[1], r[2]};
        for (int k = 0; k < 4; ++k) sums[residual + k] += of_residual[k];
        const Lane xxx = xx * across;
        const Lane of_information[] = {w[0],      xx * w[0], xx * xx * w[0], across * w[1], xxx * w[1],
                                       xx * w[2], w[2],      xx * w[2],      across * w[3], w[4]};
        for (int k = 0; k < 10; ++k) sums[information + k] += of_information[k];
    }
};

/// The products of the slopes of two molecules, a and b.
template <class Psf>
struct PairSums {
    static constexpr int each = EmitterImage<Psf>::each, count = each * each;
    static GLINT_INLINE constexpr int product(int of_a, int of_b) { return of_a * each + of_b; }

    /// Adds the columns from x on, in `box`, where the images overlap.
    static GLINT_INLINE void add(const EmitterImage<Psf>& a, const EmitterImage<Psf>& b, const Box& box, int x,
                                 const float* weight, int pitch, Lane* sums) {
        const auto of_a = a.columns(x, box.x1), of_b = b.columns(x, box.x1);
        if constexpr (Psf::separable) {
            constexpr int profiles = EmitterImage<Psf>::profiles;
            Lane ww[profiles][profiles];
            for (int i = 0; i < profiles; ++i)
                for (int j = 0; j < profiles; ++j) ww[i][j] = Lane{};
            GLINT_ROLL
            for (int y = box.y0 + Warp::row(); y < box.y1; y += Warp::row_step) {
                float down_a[profiles], down_b[profiles];
                a.down(y, down_a), b.down(y, down_b);
                const Lane w = load(weight + (y * pitch + x));
                GLINT_UNROLL
                for (int i = 0; i < profiles; ++i) {
                    const Lane weighted = w * down_a[i];
                    GLINT_UNROLL
                    for (int j = 0; j < profiles; ++j) ww[i][j] += weighted * down_b[j];
                }
            }
            Lane by[profiles][each];
            GLINT_UNROLL
            for (int i = 0; i < profiles; ++i) b.slopes(of_b, ww[i], by[i]);
            GLINT_UNROLL
            for (int q = 0; q < each; ++q) {
                Lane row[profiles], s[each];
                for (int i = 0; i < profiles; ++i) row[i] = by[i][q];
                a.slopes(of_a, row, s);
                for (int k = 0; k < each; ++k) sums[product(k, q)] += s[k];
            }
        } else {
            GLINT_ROLL
            for (int y = box.y0 + Warp::row(); y < box.y1; y += Warp::row_step) {
                const Lane w = load(weight + (y * pitch + x));
                Lane s[each], t[each];
                a.slopes_at(of_a, y, s), b.slopes_at(of_b, y, t);
                GLINT_UNROLL
                for (int k = 0; k < each; ++k) {
                    const Lane ws = w * s[k];
                    GLINT_UNROLL
                    for (int q = 0; q < each; ++q) sums[product(k, q)] += ws * t[q];
                }
            }
        }
    }
};

}  // namespace glint::GLINT_ISA
