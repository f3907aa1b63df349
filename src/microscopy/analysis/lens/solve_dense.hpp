// Small dense systems with a symmetric positive definite matrix.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace glint::lens {

/// A symmetric matrix of n x n elements, in C order.
struct DenseMatrix {
    std::size_t n = 0;
    std::vector<double> values;

    explicit DenseMatrix(std::size_t size) : n(size), values(size * size) {}
    double& at(std::size_t row, std::size_t column) { return values[row * n + column]; }
    double at(std::size_t row, std::size_t column) const { return values[row * n + column]; }
};

/// Returns the solution of `matrix` times x = `right`, by Cholesky's decomposition; empty if the matrix is not positive
/// definite.
inline std::vector<double> solve_dense(DenseMatrix matrix, std::vector<double> right) {
    const std::size_t n = matrix.n;
    for (std::size_t j = 0; j < n; ++j) {
        const double diagonal = matrix.at(j, j);
        for (std::size_t k = 0; k < j; ++k) matrix.at(j, j) -= matrix.at(j, k) * matrix.at(j, k);
        if (!(matrix.at(j, j) > 1e-14 * diagonal)) return {};
        matrix.at(j, j) = std::sqrt(matrix.at(j, j));
        for (std::size_t i = j + 1; i < n; ++i) {
            for (std::size_t k = 0; k < j; ++k) matrix.at(i, j) -= matrix.at(i, k) * matrix.at(j, k);
            matrix.at(i, j) /= matrix.at(j, j);
        }
    }
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t k = 0; k < j; ++k) right[j] -= matrix.at(j, k) * right[k];
        right[j] /= matrix.at(j, j);
    }
    for (std::size_t j = n; j-- > 0;) {
        for (std::size_t k = j + 1; k < n; ++k) right[j] -= matrix.at(k, j) * right[k];
        right[j] /= matrix.at(j, j);
    }
    return right;
}

}  // namespace glint::lens
