// Symmetric matrices of any order, in rows that are filled up to whole ones of a team: a system's solution, and by Cholesky's
// decomposition the diagonal of the inverse.
//
// Each pivot subtracts multiples of its row from other rows: no sums across a SIMD register, and on a GPU a column for each
// thread. Scaled to a diagonal of 1, since the elements of a Fisher matrix differ by the units of the parameters. Left of the
// diagonal a row holds anything.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/joint/team.hpp"

namespace glint::GLINT_ISA {

/// Borrowed: `order` rows of `pitch` floats, a multiple of 16.
struct SquareMatrix {
    float* values;
    int order, pitch;
    GLINT_INLINE float* row(int r) const { return values + ptrdiff_t(r) * pitch; }
};

GLINT_INLINE void clear(float* values, int n) {
    for (int k = Team::begin(); k < n; k += Team::step) store(values + k, Lane{});
}

/// The first element of a row that counts: what is before it in the same step of a team may be overwritten.
GLINT_INLINE int from_column(int c) { return rounded_down(c) + Team::begin(); }

/// U of the matrix A whose upper triangle is `a`, scaled by `scale[r] scale[c]`, with 1 + damping on the diagonal, and the
/// inverses of U's diagonal, A = U^T U. False where a pivot is below 1e-6.
GLINT_INLINE bool decompose(const SquareMatrix& a, const float* scale, float damping, const SquareMatrix& u,
                            float* inverse_pivot) {
    const int n = a.order;
    for (int r = 0; r < n; ++r)
        for (int k = from_column(r); k < a.pitch; k += Team::step)
            store(u.row(r) + k, load(a.row(r) + k) * (scale[r] * load(scale + k)));
    Team::sync();
    for (int c = 0; c < n; ++c) {
        float* row = u.row(c);
        const float pivot = row[c] + damping;
        if (!(pivot > 1e-6f)) return false;
        const float inverse = 1 / root_of(pivot);
        Team::sync();
        for (int k = from_column(c); k < u.pitch; k += Team::step) {
            const Mask right = Team::offsets() + float(k) > splat(float(c));
            store(row + k, select(right, load(row + k) * inverse, Lane{}));
        }
        inverse_pivot[c] = inverse;
        Team::sync();
        for (int r = c + 1 + Team::row(); r < n; r += Team::row_step) {
            const float factor = row[r];
            for (int k = rounded_down(r) + Team::column(); k < u.pitch; k += Team::column_step)
                store(u.row(r) + k, load(u.row(r) + k) - factor * load(row + k));
        }
        Team::sync();
    }
    return true;
}

/// x, scaled back, with A x = b, where A is the matrix whose upper triangle is `a`, and both are scaled as in decompose(), with
/// 1 + damping on the diagonal: by Gauss-Jordan elimination in `work`, whose pitch has room for a column more. False where a
/// pivot is below 1e-6. More operations than by triangular factors, but no sum waits for the one before.
GLINT_INLINE bool solve(const SquareMatrix& a, const float* scale, float damping, const float* b,
                        const SquareMatrix& work, float* x) {
    const int n = a.order;
    for (int r = 0; r < n; ++r)
        for (int k = from_column(r); k < work.pitch; k += Team::step)
            store(work.row(r) + k, load(a.row(r) + k) * (scale[r] * load(scale + k)));
    Team::sync();
    for (int r = Team::rank(); r < n; r += Team::size) work.row(r)[n] = b[r] * scale[r];
    Team::sync();
    for (int c = 0; c < n; ++c) {
        float* row = work.row(c);
        const float pivot = row[c] + damping;
        if (!(pivot > 1e-6f)) return false;
        const float inverse = 1 / pivot;
        Team::sync();
        for (int k = from_column(c); k < work.pitch; k += Team::step) {
            const Mask right = Team::offsets() + float(k) > splat(float(c));
            store(row + k, select(right, load(row + k) * inverse, Lane{}));
        }
        Team::sync();
        for (int k = rounded_down(c) + Team::column(); k < work.pitch; k += Team::column_step) {
            const Lane by = load(row + k);
            float* to = work.values + k;
            const int last =
                least_of(n, rounded_down(k) + Team::columns_at_once);  // what is left of the diagonal is not read
            for (int r = Team::row(); r < c; r += Team::row_step) {
                float* at = to + ptrdiff_t(r) * work.pitch;
                store(at, load(at) - work.row(r)[c] * by);
            }
            // Below the pivot's row the matrix is still symmetric.
            for (int r = c + 1 + Team::row(); r < last; r += Team::row_step) {
                float* at = to + ptrdiff_t(r) * work.pitch;
                store(at, load(at) - row[r] * pivot * by);
            }
        }
        Team::sync();
    }
    for (int r = Team::rank(); r < n; r += Team::size) x[r] = work.row(r)[n] * scale[r];
    Team::sync();
    return true;
}

/// The diagonal of the inverse of U^T U, to `diagonal`; `m`: room for the inverse of U^T, whose rows are what an element of
/// the diagonal sums the squares of.
GLINT_INLINE void inverse_diagonal(const SquareMatrix& u, const float* inverse_pivot, const SquareMatrix& m,
                                   float* diagonal) {
    const int n = u.order;
    clear(diagonal, u.pitch);
    for (int r = 0; r < n; ++r)
        for (int k = Team::begin(); k < rounded_up(r + 1); k += Team::step)
            store(m.row(r) + k, select(Team::offsets() + float(k) == splat(float(r)), splat(1.0f), Lane{}));
    Team::sync();
    for (int r = 0; r < n; ++r) {
        float* row = m.row(r);
        for (int k = Team::begin(); k < rounded_up(r + 1); k += Team::step) {
            const Lane done = load(row + k) * inverse_pivot[r];
            store(row + k, done);
            store(diagonal + k, load(diagonal + k) + done * done);
            for (int below = r + 1; below < n; ++below)
                store(m.row(below) + k, load(m.row(below) + k) - u.row(r)[below] * done);
        }
        Team::sync();
    }
}

}  // namespace glint::GLINT_ISA
