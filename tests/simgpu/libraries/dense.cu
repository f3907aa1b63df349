// The stand-in of cuSOLVER's kernels: LU and QR decompositions, and eigenvalues by Jacobi rotations, in double
// precision.
// SPDX-License-Identifier: MIT
#include "shapes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "gpu/kernel_abi.hpp"

namespace {

using glint::gpu::Index;
using simgpu::DenseShape;

/// Overwrites the work area, whose content a library leaves undefined.
template <class T>
void spoil(T* work, long long count) {
    std::fill_n(work, count, std::numeric_limits<T>::quiet_NaN());
}

/// LU decomposition with partial pivoting of rows. `pivots` count from 1, as in LAPACK.
template <class T>
struct Lu {
    static constexpr unsigned max_threads = 1;
    static GLINT_DEVICE void compute(Index, T* a, T* work, int* pivots, int* info, DenseShape f) {
        const auto at = [&](int i, int j) -> T& { return a[i + j * (long long)f.lda]; };
        *info = 0;
        for (int k = 0; k < f.n; ++k) {
            int best = k;
            for (int i = k + 1; i < f.n; ++i)
                if (std::abs(at(i, k)) > std::abs(at(best, k))) best = i;
            pivots[k] = best + 1;
            for (int j = 0; j < f.n; ++j) std::swap(at(k, j), at(best, j));
            if (at(k, k) == 0) {
                if (!*info) *info = k + 1;
                continue;
            }
            for (int i = k + 1; i < f.n; ++i) {
                const double factor = double(at(i, k)) / double(at(k, k));
                at(i, k) = T(factor);
                for (int j = k + 1; j < f.n; ++j) at(i, j) = T(double(at(i, j)) - factor * double(at(k, j)));
            }
        }
        spoil(work, f.work_count);
    }
};

/// Solves a x = b, or a^T x = b, from the factors p a = l u.
template <class T>
struct Solve {
    static constexpr unsigned max_threads = 1;
    static GLINT_DEVICE void compute(Index, const T* a, const int* pivots, T* b, int* info, DenseShape f) {
        const auto at = [&](int i, int j) { return double(a[i + j * (long long)f.lda]); };
        for (int c = 0; c < f.columns; ++c) {
            T* x = b + c * (long long)f.ldb;
            const auto less = [&](int i, double by) { x[i] = T(double(x[i]) - by); };
            if (!f.transposed) {
                for (int k = 0; k < f.n; ++k) std::swap(x[k], x[pivots[k] - 1]);
                for (int i = 0; i < f.n; ++i)
                    for (int j = 0; j < i; ++j) less(i, at(i, j) * double(x[j]));
                for (int i = f.n - 1; i >= 0; --i) {
                    for (int j = i + 1; j < f.n; ++j) less(i, at(i, j) * double(x[j]));
                    x[i] = T(double(x[i]) / at(i, i));
                }
                continue;
            }
            for (int i = 0; i < f.n; ++i) {
                for (int j = 0; j < i; ++j) less(i, at(j, i) * double(x[j]));
                x[i] = T(double(x[i]) / at(i, i));
            }
            for (int i = f.n - 1; i >= 0; --i)
                for (int j = i + 1; j < f.n; ++j) less(i, at(j, i) * double(x[j]));
            for (int k = f.n - 1; k >= 0; --k) std::swap(x[k], x[pivots[k] - 1]);
        }
        *info = 0;
    }
};

/// Eigenvalues from one triangle. Columns of `a` become the vectors, or are undefined without vectors.
template <class T>
struct Eigen {
    static constexpr unsigned max_threads = 1;
    static GLINT_DEVICE void compute(Index, T* a, T* w, T* work, int* info, DenseShape f) {
        const int n = f.n;
        std::vector<std::vector<double>> s(n, std::vector<double>(n)), v(n, std::vector<double>(n));
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) {
                const bool above = i <= j;
                const bool stored = above == bool(f.upper) || i == j;
                s[i][j] = double(stored ? a[i + j * (long long)f.lda] : a[j + i * (long long)f.lda]);
                v[i][j] = i == j;
            }
        *info = 1;
        for (int sweep = 0; sweep < 60 && *info; ++sweep) {
            double off = 0, all = 0;
            for (int i = 0; i < n; ++i)
                for (int j = 0; j < n; ++j) all += s[i][j] * s[i][j], off += i == j ? 0 : s[i][j] * s[i][j];
            if (off <= 1e-30 * all) {
                *info = 0;
                break;
            }
            for (int p = 0; p < n; ++p)
                for (int q = p + 1; q < n; ++q) rotate(s, v, p, q);
        }
        std::vector<int> order(n);
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), [&](int x, int y) { return s[x][x] < s[y][y]; });
        for (int k = 0; k < n; ++k) {
            w[k] = T(s[order[k]][order[k]]);
            for (int i = 0; i < n; ++i)
                a[i + k * (long long)f.lda] = f.vectors ? T(v[i][order[k]]) : std::numeric_limits<T>::quiet_NaN();
        }
        spoil(work, f.work_count);
    }
    static void rotate(std::vector<std::vector<double>>& s, std::vector<std::vector<double>>& v, int p, int q) {
        if (s[p][q] == 0) return;
        const double theta = (s[q][q] - s[p][p]) / (2 * s[p][q]);
        const double t = std::copysign(1.0, theta) / (std::abs(theta) + std::hypot(1.0, theta));
        const double c = 1 / std::hypot(1.0, t), sine = c * t;
        const int n = int(s.size());
        for (int k = 0; k < n; ++k) {
            const double x = s[k][p], y = s[k][q];
            s[k][p] = c * x - sine * y, s[k][q] = sine * x + c * y;
        }
        for (int k = 0; k < n; ++k) {
            const double x = s[p][k], y = s[q][k];
            s[p][k] = c * x - sine * y, s[q][k] = sine * x + c * y;
        }
        for (int k = 0; k < n; ++k) {
            const double x = v[k][p], y = v[k][q];
            v[k][p] = c * x - sine * y, v[k][q] = sine * x + c * y;
        }
    }
};

/// QR decomposition by Householder's reflections 1 - tau v v^T, with v(k) = 1 and v stored below the diagonal.
template <class T>
struct Qr {
    static constexpr unsigned max_threads = 1;
    static GLINT_DEVICE void compute(Index, T* a, T* tau, T* work, int* info, DenseShape f) {
        const auto at = [&](int i, int j) -> T& { return a[i + j * (long long)f.lda]; };
        for (int k = 0; k < std::min(f.m, f.n); ++k) {
            double below = 0;
            for (int i = k + 1; i < f.m; ++i) below += double(at(i, k)) * double(at(i, k));
            if (below == 0) {
                tau[k] = 0;
                continue;
            }
            const double top = double(at(k, k)), length = std::sqrt(top * top + below);
            const double diagonal = top > 0 ? -length : length, factor = (diagonal - top) / diagonal;
            for (int i = k + 1; i < f.m; ++i) at(i, k) = T(double(at(i, k)) / (top - diagonal));
            at(k, k) = T(diagonal), tau[k] = T(factor);
            for (int j = k + 1; j < f.n; ++j) {
                double along = double(at(k, j));
                for (int i = k + 1; i < f.m; ++i) along += double(at(i, k)) * double(at(i, j));
                at(k, j) = T(double(at(k, j)) - factor * along);
                for (int i = k + 1; i < f.m; ++i) at(i, j) = T(double(at(i, j)) - factor * along * double(at(i, k)));
            }
        }
        *info = 0;
        spoil(work, f.work_count);
    }
};

/// Computes the first n columns of the product of these reflections.
template <class T>
struct Q {
    static constexpr unsigned max_threads = 1;
    static GLINT_DEVICE void compute(Index, T* a, const T* tau, T* work, int* info, DenseShape f) {
        std::vector<std::vector<double>> q(f.n, std::vector<double>(f.m));
        for (int j = 0; j < f.n; ++j) {
            q[j][j] = 1;
            for (int k = f.columns - 1; k >= 0; --k) {
                const T* v = a + k * (long long)f.lda;
                double along = q[j][k];
                for (int i = k + 1; i < f.m; ++i) along += double(v[i]) * q[j][i];
                along *= double(tau[k]);
                q[j][k] -= along;
                for (int i = k + 1; i < f.m; ++i) q[j][i] -= along * double(v[i]);
            }
        }
        for (int j = 0; j < f.n; ++j)
            for (int i = 0; i < f.m; ++i) a[i + j * (long long)f.lda] = T(q[j][i]);
        *info = 0;
        spoil(work, f.work_count);
    }
};

}  // namespace

GLINT_KERNEL(simlib_lu_float, 5, Lu<float>)
GLINT_KERNEL(simlib_lu_double, 5, Lu<double>)
GLINT_KERNEL(simlib_solve_float, 5, Solve<float>)
GLINT_KERNEL(simlib_solve_double, 5, Solve<double>)
GLINT_KERNEL(simlib_eigen_float, 5, Eigen<float>)
GLINT_KERNEL(simlib_eigen_double, 5, Eigen<double>)
GLINT_KERNEL(simlib_qr_float, 5, Qr<float>)
GLINT_KERNEL(simlib_qr_double, 5, Qr<double>)
GLINT_KERNEL(simlib_q_float, 5, Q<float>)
GLINT_KERNEL(simlib_q_double, 5, Q<double>)
