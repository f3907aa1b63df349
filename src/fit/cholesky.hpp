// Small symmetric systems, one per lane: factor, solve, diagonal of the inverse. Packed lower triangles, row by row.
// SPDX-License-Identifier: MIT
#pragma once

#include "psf/lane.hpp"

namespace glint::GLINT_ISA {

GLINT_INLINE constexpr int packed(int row, int column) { return row * (row + 1) / 2 + column; }

/// L with L L^T = A, its diagonal inverted.
template <int P>
struct Cholesky {
    Lane l[P * (P + 1) / 2];
    Mask singular;  // a pivot fell below 1e-5 of its diagonal element, or is not positive

    GLINT_INLINE explicit Cholesky(const Lane* a) {
        singular = all_false();
        GLINT_UNROLL
        for (int r = 0; r < P; ++r) {
            GLINT_UNROLL
            for (int c = 0; c <= r; ++c) {
                Lane v = a[packed(r, c)];
                GLINT_UNROLL
                for (int k = 0; k < c; ++k) v -= l[packed(r, k)] * l[packed(c, k)];
                l[packed(r, c)] = c == r ? invert_pivot(v, a[packed(r, r)]) : v * l[packed(c, c)];
            }
        }
    }

    /// x with A x = b.
    GLINT_INLINE void solve(const Lane* b, Lane* x) const {
        Lane z[P];
        GLINT_UNROLL
        for (int r = 0; r < P; ++r) {
            Lane v = b[r];
            GLINT_UNROLL
            for (int k = 0; k < r; ++k) v -= l[packed(r, k)] * z[k];
            z[r] = v * l[packed(r, r)];
        }
        GLINT_UNROLL
        for (int r = P - 1; r >= 0; --r) {
            Lane v = z[r];
            GLINT_UNROLL
            for (int k = r + 1; k < P; ++k) v -= l[packed(k, r)] * x[k];
            x[r] = v * l[packed(r, r)];
        }
    }

    GLINT_INLINE void inverse_diagonal(Lane* d) const {
        Lane inv[P * (P + 1) / 2];  // L^-1
        GLINT_UNROLL
        for (int c = 0; c < P; ++c) {
            inv[packed(c, c)] = l[packed(c, c)];
            d[c] = inv[packed(c, c)] * inv[packed(c, c)];
            GLINT_UNROLL
            for (int r = c + 1; r < P; ++r) {
                Lane v = Lane{};
                GLINT_UNROLL
                for (int k = c; k < r; ++k) v -= l[packed(r, k)] * inv[packed(k, c)];
                inv[packed(r, c)] = v * l[packed(r, r)];
                d[c] += inv[packed(r, c)] * inv[packed(r, c)];
            }
        }
    }

  private:
    GLINT_INLINE Lane invert_pivot(Lane pivot, Lane diagonal) {
        const Lane floor = max(1e-5f * diagonal, splat(1e-20f));
        singular |= negate(pivot > floor);
        return 1.0f / sqrt(max(pivot, floor));
    }
};

}  // namespace glint::GLINT_ISA
