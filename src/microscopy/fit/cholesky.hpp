// Cholesky decomposition of small symmetric matrices, one per lane: solves the step of Fisher scoring and gives the
// diagonal of the inverse, which is the CRLB (docs/explanation/theory.md, section 3, eq. 3.4).
//
// P is known at compile time and all loops unroll, so that on a GPU the triangle stays in registers. Matrices are
// packed lower triangles, row by row.
// SPDX-License-Identifier: MIT
#pragma once

#include "psf/lane.hpp"

namespace glint::GLINT_ISA {

/// Index of element (row, column), column <= row.
GLINT_INLINE constexpr int packed(int row, int column) { return row * (row + 1) / 2 + column; }

/// L with L L^T = A. The diagonal contains the inverses 1 / L_rr, so that solving needs only products.
template <int P>
struct Cholesky {
    Lane l[P * (P + 1) / 2];
    Mask singular;  // a pivot is below 1e-5 of its diagonal element: A is singular within single precision

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

    /// Solves A x = b by forward and backward substitution.
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

    /// Computes the diagonal of A^-1 = L^-T L^-1: sums of squares over the columns of L^-1.
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
    /// Inverts a pivot. A singular lane gets a small positive pivot instead, so that it stays finite; its status is
    /// singular.
    GLINT_INLINE Lane invert_pivot(Lane pivot, Lane diagonal) {
        const Lane floor = max(1e-5f * diagonal, splat(1e-20f));
        singular |= negate(pivot > floor);
        return 1.0f / sqrt(max(pivot, floor));
    }
};

}  // namespace glint::GLINT_ISA
