// Conditions for solutions, eigenvalues and QR decompositions, for tests on the CPU and on a GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "glint/arrays/array.hpp"

namespace glint::arrays::test {

/// (rows, columns), by rows.
template <class T>
struct Matrix {
    std::int64_t rows, columns;
    std::vector<T> values;

    Matrix(std::int64_t m, std::int64_t n) : rows(m), columns(n), values(std::size_t(m * n)) {}
    Matrix(std::int64_t m, std::int64_t n, unsigned seed) : Matrix(m, n) {
        std::mt19937 random(seed);
        std::normal_distribution<double> normal;
        for (T& x : values) x = T(normal(random));
    }
    T& at(std::int64_t i, std::int64_t j) { return values[std::size_t(i * columns + j)]; }
    double at(std::int64_t i, std::int64_t j) const { return double(values[std::size_t(i * columns + j)]); }
    Shape shape() const { return {rows, columns}; }
    View<const T> in() const { return {values.data(), shape()}; }
    View<T> out() { return {values.data(), shape()}; }
    double size() const {  // Frobenius norm
        double sum = 0;
        for (const T x : values) sum += double(x) * double(x);
        return std::sqrt(sum);
    }
};

template <class T>
Matrix<T> symmetric(std::int64_t n, unsigned seed) {
    Matrix<T> a(n, n, seed);
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < i; ++j) a.at(j, i) = a.at(i, j);
    return a;
}

/// Expects |a b - c| within `bound` everywhere; `turned`: with the transpose of a.
template <class T>
void expect_product(const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& c, double bound, bool turned = false) {
    for (std::int64_t i = 0; i < c.rows; ++i)
        for (std::int64_t j = 0; j < c.columns; ++j) {
            double sum = 0;
            for (std::int64_t k = 0; k < b.rows; ++k) sum += (turned ? a.at(k, i) : a.at(i, k)) * b.at(k, j);
            ASSERT_NEAR(sum, c.at(i, j), bound) << i << ", " << j;
        }
}

template <class T>
Matrix<T> identity(std::int64_t n) {
    Matrix<T> one(n, n);
    for (std::int64_t k = 0; k < n; ++k) one.at(k, k) = 1;
    return one;
}

/// Backward stable algorithms leave residuals of some n eps |a|, and of |x| for a system.
template <class T>
double residual(const Matrix<T>& a, double of_x = 1) {
    return 8 * double(std::max(a.rows, a.columns)) * double(std::numeric_limits<T>::epsilon()) * (a.size() * of_x + 1);
}

template <class T, class Solve>
void expect_solutions(const Solve& solve) {
    for (const std::int64_t n : {1, 2, 7, 40})
        for (const std::int64_t columns : {1, 3}) {
            const Matrix<T> a(n, n, 1), b(n, columns, 2);
            Matrix<T> x(n, columns);
            solve(a, b, x);
            expect_product<T>(a, x, b, residual(a, x.size()));
        }
}

template <class T, class Eigh>
void expect_eigenvalues(const Eigh& eigh) {
    for (const std::int64_t n : {1, 2, 7, 40}) {
        Matrix<T> a = symmetric<T>(n, 3), v(n, n), w(1, n), only(1, n);
        Matrix<T> lower = a;  // the upper triangle is not read
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = i + 1; j < n; ++j) lower.at(i, j) = T(100);
        eigh(lower, w, &v);
        eigh(lower, only, nullptr);
        Matrix<T> scaled = v;
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < n; ++j) scaled.at(i, j) *= w.at(0, j);
        expect_product<T>(a, v, scaled, residual(a));
        expect_product<T>(v, v, identity<T>(n), residual(identity<T>(n)), true);
        for (std::int64_t k = 0; k < n; ++k) {
            EXPECT_LE(w.values[std::size_t(std::max<std::int64_t>(k, 1) - 1)], w.values[std::size_t(k)]);
            EXPECT_NEAR(only.values[std::size_t(k)], w.values[std::size_t(k)], residual(a));
        }
    }
}

/// The same with all vectors.
template <class T, class Svd>
void expect_full_svd(const Svd& svd) {
    const std::int64_t shapes[][2] = {{1, 1}, {5, 5}, {20, 7}, {7, 20}, {1, 4}, {4, 1}};
    for (const auto& [m, n] : shapes) {
        const std::int64_t k = std::min(m, n);
        const Matrix<T> a(m, n, 5);
        Matrix<T> s(1, k), u(m, m), vt(n, n), scaled(m, n);
        svd(a, s, u, vt);
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < k; ++j) scaled.at(i, j) = u.at(i, j) * s.at(0, j);
        expect_product<T>(scaled, vt, a, residual(a));
        expect_product<T>(u, u, identity<T>(m), residual(identity<T>(m)), true);
        expect_product<T>(vt, vt, identity<T>(n), residual(identity<T>(n)), true);
    }
}

template <class T, class Qr>
void expect_qr(const Qr& qr) {
    const std::int64_t shapes[][2] = {{1, 1}, {5, 5}, {30, 7}, {7, 30}, {1, 4}, {4, 1}};
    for (const auto& [m, n] : shapes) {
        const std::int64_t k = std::min(m, n);
        const Matrix<T> a(m, n, 4);
        Matrix<T> q(m, k), r(k, n);
        qr(a, q, r);
        expect_product<T>(q, r, a, residual(a));
        expect_product<T>(q, q, identity<T>(k), residual(identity<T>(k)), true);
        for (std::int64_t i = 0; i < k; ++i)
            for (std::int64_t j = 0; j < std::min(i, n); ++j) EXPECT_EQ(r.at(i, j), T(0));
    }
}

}  // namespace glint::arrays::test
