// The sums over pixels and rows that form a separable model's gradient and Fisher matrix (theory.md, eq. 3.3).
//
// The derivatives of mu' by all parameters are products of a factor along x and a factor along y. A pixel therefore
// contributes only to the nine sums of its row (14 with free widths). The factors along y are applied once per row.
// This takes about 13 operations per pixel. Without the factorisation, a pixel takes 10 products of derivatives for
// four parameters, and 21 for six.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/cholesky.hpp"
#include "fit/kernel/group.hpp"

namespace glint::GLINT_ISA {

/// Sums over the pixels of one row, with w = q / mu', r = q (d' / mu' - 1) and the factors along x a = Ex, b = dEx/dx
/// and g = dEx/dsx (eq. 1.2). `shapes`: the number of shape parameters; without any, g is not used.
template <int shapes>
struct PixelSums {
    Lane w, wa, wb, waa, wab, wbb, r, ra, rb;
    Lane wg, wag, wbg, wgg, rg;  // for free widths

    GLINT_INLINE void add(Lane residual, Lane weight, Lane a, Lane b, Lane g) {
        const Lane weight_a = weight * a, weight_b = weight * b;
        w += weight, wa += weight_a, wb += weight_b;
        waa += weight_a * a, wab += weight_a * b, wbb += weight_b * b;
        r += residual, ra += residual * a, rb += residual * b;
        if constexpr (shapes > 0) {
            const Lane weight_g = weight * g;
            wg += weight_g, wag += weight_a * g, wbg += weight_b * g, wgg += weight_g * g;
            rg += residual * g;
        }
    }
};

/// Sums over the rows, with the factors along y c = Ey, e = dEy/dy and t = dEy/dsy. `finish` multiplies by N. If one
/// shape parameter changes both widths, it also applies the chain rule.
template <class Psf>
struct RowSums {
    static constexpr int shapes = shape_parameters<Psf>;
    // Names are pairs of parameters, with n = N and b = bg. For the widths: g is the gradient, s x, e y, n N, b bg, and
    // s1 to s3 the widths with each other.
    Lane x, y, n, bg;                                         // gradient
    Lane xx, xy, yy, xn, yn, nn, xb, yb, nb, bb;              // Fisher matrix
    Lane gx, gy, sx, sy, nx, ny, bx, by, s1, s2, s3, ex, ey;  // with the widths

    GLINT_INLINE void add(const PixelSums<shapes>& p, Lane c, Lane e, Lane t) {
        // A product of two derivatives is a product of the row's sum and two factors along y, e.g. I_xx: c^2 sum w b^2.
        const Lane cc = c * c, ce = c * e, ca = c * p.waa, cb = c * p.wab;
        x += c * p.rb, y += e * p.ra, n += c * p.ra, bg += p.r;
        xx += cc * p.wbb, xy += ce * p.wab, yy += e * e * p.waa;
        xn += c * cb, yn += e * ca, nn += c * ca;
        xb += c * p.wb, yb += e * p.wa, nb += c * p.wa, bb += p.w;
        if constexpr (shapes > 0) {
            gx += c * p.rg, gy += t * p.ra;
            sx += cc * p.wbg, sy += t * cb;         // x with the widths
            ex += ce * p.wag, ey += e * t * p.waa;  // y
            nx += cc * p.wag, ny += t * ca;         // N
            bx += c * p.wg, by += t * p.wa;         // bg
            s1 += cc * p.wgg, s2 += c * t * p.wag, s3 += t * t * p.waa;
        }
    }

    /// Multiplies the sums by N, and writes them in the order of the parameters.
    GLINT_INLINE void finish(Lane photons, const Widths& w, Derivatives<Psf>& out) const {
        // The derivatives by position and widths are proportional to N, those by N and bg are not.
        const Lane n2 = photons * photons;
        Lane* g = out.gradient;
        Lane* f = out.fisher;
        g[0] = photons * x, g[1] = photons * y, g[2] = n, g[3] = bg;
        f[packed(0, 0)] = n2 * xx, f[packed(1, 0)] = n2 * xy, f[packed(1, 1)] = n2 * yy;
        f[packed(2, 0)] = photons * xn, f[packed(2, 1)] = photons * yn, f[packed(2, 2)] = nn;
        f[packed(3, 0)] = photons * xb, f[packed(3, 1)] = photons * yb, f[packed(3, 2)] = nb, f[packed(3, 3)] = bb;
        if constexpr (shapes == 2) {
            g[4] = photons * gx, g[5] = photons * gy;
            f[packed(4, 0)] = n2 * sx, f[packed(5, 0)] = n2 * sy;
            f[packed(4, 1)] = n2 * ex, f[packed(5, 1)] = n2 * ey;
            f[packed(4, 2)] = photons * nx, f[packed(5, 2)] = photons * ny;
            f[packed(4, 3)] = photons * bx, f[packed(5, 3)] = photons * by;
            f[packed(4, 4)] = n2 * s1, f[packed(5, 4)] = n2 * s2, f[packed(5, 5)] = n2 * s3;
        } else if constexpr (shapes == 1) {  // d/ds = (dsx/ds) d/dsx + (dsy/ds) d/dsy
            const Lane u = w.x_slope, v = w.y_slope;
            g[4] = photons * (u * gx + v * gy);
            f[packed(4, 0)] = n2 * (u * sx + v * sy);
            f[packed(4, 1)] = n2 * (u * ex + v * ey);
            f[packed(4, 2)] = photons * (u * nx + v * ny);
            f[packed(4, 3)] = photons * (u * bx + v * by);
            f[packed(4, 4)] = n2 * (u * u * s1 + 2.0f * u * v * s2 + v * v * s3);
        }
    }
};

}  // namespace glint::GLINT_ISA
