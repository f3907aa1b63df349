// Cholesky decomposition of a symmetric matrix of any order, in double precision.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace glint {

/// A packed lower triangle, as fit/cholesky.hpp, of any order.
class SymmetricMatrix {
  public:
    explicit SymmetricMatrix(std::size_t order) : order_(order), values_(order * (order + 1) / 2) {}
    double& at(std::size_t row, std::size_t column) {
        if (row < column) std::swap(row, column);
        return values_[row * (row + 1) / 2 + column];
    }
    std::size_t order() const { return order_; }

    /// Replaces A by L, A = L L^T; false where a pivot is below 1e-12 of its diagonal.
    bool decompose() {
        for (std::size_t r = 0; r < order_; ++r)
            for (std::size_t c = 0; c <= r; ++c) {
                double v = at(r, c);
                const double* a = &values_[r * (r + 1) / 2];
                const double* b = &values_[c * (c + 1) / 2];
                for (std::size_t k = 0; k < c; ++k) v -= a[k] * b[k];
                if (r == c) {
                    if (!(v > 1e-12 * at(r, r)) || !(v > 0)) return false;
                    at(r, c) = std::sqrt(v);
                } else {
                    at(r, c) = v / at(c, c);
                }
            }
        return true;
    }
    /// Of L: x with A x = b.
    void solve(std::vector<double>& x) {
        for (std::size_t r = 0; r < order_; ++r) {
            for (std::size_t k = 0; k < r; ++k) x[r] -= at(r, k) * x[k];
            x[r] /= at(r, r);
        }
        for (std::size_t r = order_; r-- > 0;) {
            for (std::size_t k = r + 1; k < order_; ++k) x[r] -= at(k, r) * x[k];
            x[r] /= at(r, r);
        }
    }
    /// Of L: the diagonal of the inverse of A.
    std::vector<double> inverse_diagonal() {
        std::vector<double> diagonal(order_), column(order_);
        for (std::size_t c = 0; c < order_; ++c) {
            for (std::size_t r = c; r < order_; ++r) {
                double v = r == c;
                for (std::size_t k = c; k < r; ++k) v -= at(r, k) * column[k];
                column[r] = v / at(r, r);
                diagonal[c] += column[r] * column[r];
            }
        }
        return diagonal;
    }

  private:
    std::size_t order_;
    std::vector<double> values_;
};

}  // namespace glint
