// Symmetric matrices of any order, in rows padded to whole multiples of a team: A = L D L^T, the solution of systems,
// and the diagonal of the inverse.
//
// Each row is computed from all rows above and written once. This needs no sums across a SIMD register, and on a GPU
// each thread computes one column. The executor `Who` is a Team, or one Warp of it. Matrices are scaled to a diagonal
// of 1, since the elements of a Fisher matrix differ by the units of the parameters.
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
    GLINT_ROLL
    for (int k = Team::begin(); k < n; k += Team::step) store(values + k, Lane{});
}

/// Returns the first element of a row that counts. Elements before it in the same step of a team may be overwritten.
template <class Who>
GLINT_INLINE int from_column(int c) {
    return rounded_down(c) + Who::begin();
}

/// Computes the columns from k on, one for each team member in `lanes` steps, of row `c` minus the products with the
/// rows above.
template <class Who, int lanes>
GLINT_INLINE void eliminate(const SquareMatrix& a, const float* scale, const SquareMatrix& to, int c, int k) {
    const float* factors = to.row(c);
    Lane sum[lanes], other[lanes];
    for (int i = 0; i < lanes; ++i) {
        const int at = k + i * Who::step;
        sum[i] = load(a.row(c) + at) * (scale[c] * load(scale + at)), other[i] = Lane{};
    }
    int j = 0;
    GLINT_ROLL
    for (; j + 1 < c; j += 2) {  // two independent sums, so that additions overlap
        const float *row = to.row(j) + k, *next = row + to.pitch;
        for (int i = 0; i < lanes; ++i) {
            sum[i] -= factors[j] * load(row + i * Who::step);
            other[i] -= factors[j + 1] * load(next + i * Who::step);
        }
    }
    if (j < c)
        for (int i = 0; i < lanes; ++i) sum[i] -= factors[j] * load(to.row(j) + k + i * Who::step);
    for (int i = 0; i < lanes; ++i) {
        const int at = k + i * Who::step;
        const Mask left = Who::offsets() + float(at) < splat(float(c));
        store(to.row(c) + at, select(left, load(to.row(c) + at), sum[i] + other[i]));
    }
}

/// Decomposes A = L D L^T. `a` is the upper triangle of A, scaled by `scale[r] scale[c]`, with 1 + damping on the
/// diagonal. Writes D L^T to the right of the diagonal, L to the left, and the inverse of D. Returns false if an
/// element of D is below 1e-6.
template <class Who>
GLINT_INLINE bool decompose(const SquareMatrix& a, const float* scale, float damping, const SquareMatrix& to,
                            float* inverse) {
    GLINT_ROLL
    for (int c = 0; c < to.order; ++c) {
        float* row = to.row(c);
        GLINT_ROLL
        for (int j = Who::rank(); j < c; j += Who::size) row[j] = to.row(j)[c] * inverse[j];
        Who::sync();
        int k = from_column<Who>(c);
        GLINT_ROLL
        for (; k + Who::step < to.pitch; k += 2 * Who::step) eliminate<Who, 2>(a, scale, to, c, k);
        if (k < to.pitch) eliminate<Who, 1>(a, scale, to, c, k);
        Who::sync();
        const float pivot = row[c] + damping;
        if (!(pivot > 1e-6f)) return false;
        inverse[c] = 1 / pivot;
    }
    Who::sync();
    return true;
}

/// Solves A x = b for a matrix that was decomposed with that scale. x is scaled back.
template <class Who>
GLINT_INLINE void solve(const SquareMatrix& of, const float* inverse, const float* scale, const float* b, float* x) {
    const int n = of.order;
    GLINT_ROLL
    for (int k = Who::begin(); k < of.pitch; k += Who::step) store(x + k, load(b + k) * load(scale + k));
    Who::sync();
    GLINT_ROLL
    for (int c = 0; c < n; ++c) {
        const float done = x[c] * inverse[c];
        Who::sync();
        GLINT_ROLL
        for (int k = from_column<Who>(c); k < of.pitch; k += Who::step) {
            const Lane column = Who::offsets() + float(k), left = load(x + k) - load(of.row(c) + k) * done;
            store(x + k,
                  select(column > splat(float(c)), left, select(column < splat(float(c)), load(x + k), splat(done))));
        }
        Who::sync();
    }
    GLINT_ROLL
    for (int c = n - 1; c > 0; --c) {
        const float done = x[c];
        GLINT_ROLL
        for (int k = Who::begin(); k < rounded_up(c); k += Who::step) {
            const Mask left = Who::offsets() + float(k) < splat(float(c));
            store(x + k, select(left, load(x + k) - load(of.row(c) + k) * done, load(x + k)));
        }
        Who::sync();
    }
    GLINT_ROLL
    for (int k = Who::begin(); k < of.pitch; k += Who::step) store(x + k, load(x + k) * load(scale + k));
    Who::sync();
}

#if defined(__CUDACC__)
// By one warp, for an order that leaves a column for each member. Members exchange values by shuffles and process a few
// rows simultaneously. This avoids nearly all waits except those for the chain of pivots.
constexpr int rows_at_once = 4;

template <>
GLINT_INLINE bool decompose<Warp>(const SquareMatrix& a, const float* scale, float damping, const SquareMatrix& to,
                                  float* inverse) {
    const int n = to.order, k = Warp::rank();
    const bool is_column = k < n;
    const float scale_k = is_column ? scale[k] : 0;
    float inverse_k = 0;
    GLINT_ROLL
    for (int c = 0; c < n; ++c) {
        const float scale_c = __shfl_sync(~0u, scale_k, c);
        const float given = k >= c && is_column ? a.row(c)[k] * (scale_c * scale_k) : 0;
        const float factor = k < c ? to.row(k)[c] * inverse_k : 0;
        float sum = given, other = 0;
        const float* column = to.values + (is_column ? k : 0);
        GLINT_ROLL
        for (int j = 0; j < c; j += rows_at_once) {
            float of[rows_at_once];
            GLINT_UNROLL
            for (int i = 0; i < rows_at_once; ++i) of[i] = j + i < c ? column[(j + i) * to.pitch] : 0;
            GLINT_UNROLL
            for (int i = 0; i < rows_at_once; i += 2) {
                sum -= __shfl_sync(~0u, factor, j + i) * of[i];
                other -= __shfl_sync(~0u, factor, j + i + 1) * of[i + 1];
            }
        }
        sum += other;
        if (is_column) to.row(c)[k] = k < c ? factor : sum;
        const float pivot = __shfl_sync(~0u, sum, c) + damping;
        if (!(pivot > 1e-6f)) return false;
        if (k == c) inverse_k = 1 / pivot;
        Warp::sync();
    }
    if (is_column) inverse[k] = inverse_k;
    Warp::sync();
    return true;
}

template <>
GLINT_INLINE void solve<Warp>(const SquareMatrix& of, const float* inverse, const float* scale, const float* b,
                              float* x) {
    const int n = of.order, k = Warp::rank();
    const bool is_column = k < n;
    const float scale_k = is_column ? scale[k] : 0, inverse_k = is_column ? inverse[k] : 0;
    float x_k = is_column ? b[k] * scale_k : 0;
    const float* column = of.values + (is_column ? k : 0);
    GLINT_ROLL
    for (int first = 0; first < n; first += rows_at_once) {
        float row[rows_at_once];
        GLINT_UNROLL
        for (int i = 0; i < rows_at_once; ++i) row[i] = first + i < n ? column[(first + i) * of.pitch] : 0;
        GLINT_UNROLL
        for (int i = 0; i < rows_at_once; ++i) {
            const int c = first + i;
            const float done = __shfl_sync(~0u, x_k * inverse_k, c);
            x_k = c >= n || k < c ? x_k : k > c ? x_k - row[i] * done : done;
        }
    }
    GLINT_ROLL
    for (int last = n - 1; last > 0; last -= rows_at_once) {
        float row[rows_at_once];
        GLINT_UNROLL
        for (int i = 0; i < rows_at_once; ++i) row[i] = last - i > 0 ? column[(last - i) * of.pitch] : 0;
        GLINT_UNROLL
        for (int i = 0; i < rows_at_once; ++i) {
            const int c = last - i;
            const float done = __shfl_sync(~0u, x_k, c & 31);  // if c is below 0, the value is not used
            x_k = k < c ? x_k - row[i] * done : x_k;
        }
    }
    if (is_column) x[k] = x_k * scale_k;
    Warp::sync();
}
#endif

/// Writes the diagonal of the inverse of a decomposed matrix to `diagonal`. `m` is memory for the inverse of L: each
/// element of the diagonal is a sum of squares over the rows of that inverse.
GLINT_INLINE void inverse_diagonal(const SquareMatrix& of, const float* inverse, const SquareMatrix& m,
                                   float* diagonal) {
    const int n = of.order;
    clear(diagonal, of.pitch);
    GLINT_ROLL
    for (int r = 0; r < n; ++r) {
        GLINT_ROLL
        for (int k = Team::begin(); k < rounded_up(r + 1); k += Team::step)
            store(m.row(r) + k, select(Team::offsets() + float(k) == splat(float(r)), splat(1.0f), Lane{}));
    }
    Team::sync();
    // The rows below are shared out among the warps.
    GLINT_ROLL
    for (int r = 0; r < n; ++r) {
        GLINT_ROLL
        for (int k = Warp::begin(); k < rounded_up(r + 1); k += Warp::step) {
            const Lane done = load(m.row(r) + k);
            if (Team::warp() == 0) store(diagonal + k, load(diagonal + k) + done * done * inverse[r]);
            GLINT_ROLL
            for (int below = r + 1 + Team::warp(); below < n; below += Team::warps)
                store(m.row(below) + k, load(m.row(below) + k) - of.row(below)[r] * done);
        }
        Team::sync();
    }
}

}  // namespace glint::GLINT_ISA
