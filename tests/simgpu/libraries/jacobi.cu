// The stand-in of cuSOLVER's kernels: singular values by one-sided Jacobi rotations, in double precision.
// SPDX-License-Identifier: MIT
#include "shapes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "gpu/kernel_abi.hpp"

namespace {

using glint::gpu::Index;
using simgpu::SvdShape;
using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

void rotate(Vector& a, Vector& b, double cosine, double sine) {
    for (std::size_t k = 0; k < a.size(); ++k) {
        const double x = a[k], y = b[k];
        a[k] = cosine * x - sine * y, b[k] = sine * x + cosine * y;
    }
}

/// Makes columns orthogonal to each other, and rotates `v` with them. Returns false if this does not converge.
bool make_orthogonal(std::vector<Vector>& columns, std::vector<Vector>& v) {
    for (int sweep = 0; sweep < 60; ++sweep) {
        double worst = 0;
        for (std::size_t p = 0; p < columns.size(); ++p)
            for (std::size_t q = p + 1; q < columns.size(); ++q) {
                const double a = dot(columns[p], columns[p]), b = dot(columns[q], columns[q]),
                             c = dot(columns[p], columns[q]);
                if (c * c <= 1e-30 * a * b) continue;
                worst = std::max(worst, std::abs(c) / std::sqrt(a * b));
                const double zeta = (b - a) / (2 * c),
                             t = std::copysign(1.0, zeta) / (std::abs(zeta) + std::hypot(1.0, zeta)),
                             cosine = 1 / std::hypot(1.0, t);
                rotate(columns[p], columns[q], cosine, cosine * t);
                rotate(v[p], v[q], cosine, cosine * t);
            }
        if (worst < 1e-14) return true;
    }
    return false;
}

/// Returns a unit vector orthogonal to the first `n`.
Vector one_more(const std::vector<Vector>& units, std::size_t n) {
    const std::size_t size = units[0].size();
    for (std::size_t k = 0; k < size; ++k) {
        Vector x(size);
        x[k] = 1;
        for (int twice = 0; twice < 2; ++twice)
            for (std::size_t i = 0; i < n; ++i) {
                const double along = dot(x, units[i]);
                for (std::size_t j = 0; j < size; ++j) x[j] -= along * units[i][j];
            }
        const double length = std::sqrt(dot(x, x));
        if (length * length * double(size) < 0.25) continue;
        for (double& value : x) value /= length;
        return x;
    }
    return Vector(size);
}

template <class T>
struct Svd {
    static constexpr unsigned max_threads = 1;
    static GLINT_DEVICE void compute(Index, T* a, T* s, T* u, T* vt, T* work, int* info, SvdShape f) {
        std::vector<Vector> columns(f.n, Vector(f.m)), v(f.n, Vector(f.n));
        for (int j = 0; j < f.n; ++j) {
            v[j][j] = 1;
            for (int i = 0; i < f.m; ++i) columns[j][i] = double(a[i + j * (long long)f.lda]);
        }
        *info = make_orthogonal(columns, v) ? 0 : 1;
        std::vector<double> lengths(f.n);
        for (int j = 0; j < f.n; ++j) lengths[j] = std::sqrt(dot(columns[j], columns[j]));
        std::vector<int> order(f.n);
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), [&](int x, int y) { return lengths[x] > lengths[y]; });
        std::vector<Vector> units(f.n, Vector(f.m));
        for (int j = 0; j < f.n; ++j) {
            const double length = lengths[order[j]];
            s[j] = T(length);
            if (length > 1e-14 * lengths[order[0]])
                std::transform(columns[order[j]].begin(), columns[order[j]].end(), units[j].begin(),
                               [=](double x) { return x / length; });
            else
                units[j] = one_more(units, std::size_t(j));
        }
        for (int j = f.n; j < f.left && f.vectors; ++j) units.push_back(one_more(units, std::size_t(j)));
        for (int j = 0; j < f.left && f.vectors; ++j)
            for (int i = 0; i < f.m; ++i) u[i + j * (long long)f.ldu] = T(units[j][i]);
        for (int j = 0; j < f.n && f.vectors; ++j) {
            for (int i = 0; i < f.n; ++i) vt[j + i * (long long)f.ldvt] = T(v[order[j]][i]);
        }
        const T nan = std::numeric_limits<T>::quiet_NaN();
        for (int j = 0; j < f.n; ++j) std::fill_n(a + j * (long long)f.lda, f.m, nan);
        std::fill_n(work, f.work_count, nan);
    }
};

}  // namespace

GLINT_KERNEL(simlib_svd_float, 7, Svd<float>)
GLINT_KERNEL(simlib_svd_double, 7, Svd<double>)
