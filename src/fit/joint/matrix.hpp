// Cholesky decomposition of a symmetric matrix of any order, in rows that are filled up to whole ones of a team.
//
// A = U^T U with U in rows, so that each pivot subtracts multiples of its row from the rows below: no sums across a SIMD
// register, and on a GPU a column for each thread. Scaled to a diagonal of 1, since the elements of a Fisher matrix differ by
// the units of the parameters. Left of the diagonal a row holds anything.
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
/// inverses of U's diagonal. False where a pivot is below 1e-6.
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

/// x with U^T U x = b. `b` is of order n, filled up with zeros, and is lost.
GLINT_INLINE void solve(const SquareMatrix& u, const float* inverse_pivot, float* b, float* x) {
    const int n = u.order;
    for (int c = 0; c < n; ++c) {
        const float value = b[c] * inverse_pivot[c];
        Team::sync();
        for (int k = from_column(c); k < u.pitch; k += Team::step)
            store(b + k, load(b + k) - value * load(u.row(c) + k));  // U's own diagonal is stored as 0
        x[c] = value;
        Team::sync();
    }
    for (int k = n + Team::rank(); k < u.pitch; k += Team::size) x[k] = 0;
    Team::sync();
    for (int r = n - 1; r >= 0; --r) {
        Lane sum = Lane{};
        for (int k = from_column(r); k < u.pitch; k += Team::step) {
            const Mask right = Team::offsets() + float(k) > splat(float(r));
            sum += select(right, load(u.row(r) + k) * load(x + k), Lane{});
        }
        const float value = (x[r] - Team::sum(sum)) * inverse_pivot[r];
        Team::sync();
        x[r] = value;
        Team::sync();
    }
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
