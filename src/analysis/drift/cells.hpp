// Points in square cells, so that neighbours are found without a look at all of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace glint::drift {

class Cells {
  public:
    /// Cells of at least `edge`; larger where the field would have too many.
    Cells(std::span<const float> x, std::span<const float> y, double edge) : edge_(edge) {
        if (x.empty()) return;
        const auto [x0, x1] = std::minmax_element(x.begin(), x.end());
        const auto [y0, y1] = std::minmax_element(y.begin(), y.end());
        x0_ = *x0, y0_ = *y0;
        const double most = std::max<double>(1 << 16, 8 * double(x.size()));
        edge_ = std::max(edge_, std::sqrt(double(*x1 - *x0) * double(*y1 - *y0) / most));
        edge_ = std::max(edge_, std::max(double(*x1 - *x0), double(*y1 - *y0)) / most);
        columns_ = int((*x1 - *x0) / edge_) + 1, rows_ = int((*y1 - *y0) / edge_) + 1;
    }
    double edge() const { return edge_; }
    std::size_t count() const { return std::size_t(columns_) * std::size_t(rows_); }
    std::size_t of(float x, float y) const {
        return std::size_t(row(y)) * std::size_t(columns_) + std::size_t(column(x));
    }
    /// Calls `use(cell)` for each cell that has points within `reach` along x and y.
    template <class Use>
    void around(double x, double y, double reach, Use use) const {
        const int c0 = std::max(0, int(std::floor((x - reach - x0_) / edge_)));
        const int c1 = std::min(columns_ - 1, int(std::floor((x + reach - x0_) / edge_)));
        const int r0 = std::max(0, int(std::floor((y - reach - y0_) / edge_)));
        const int r1 = std::min(rows_ - 1, int(std::floor((y + reach - y0_) / edge_)));
        for (int r = r0; r <= r1; ++r)
            for (int c = c0; c <= c1; ++c) use(std::size_t(r) * std::size_t(columns_) + std::size_t(c));
    }

    /// Calls `use(first, last)` with the first and the last cell of each row of those that reach within `reach` of a cell.
    template <class Use>
    void rows_around(std::size_t cell, double reach, Use use) const {
        const int by = int(std::ceil(reach / edge_));
        const int row = int(cell / std::size_t(columns_)), column = int(cell % std::size_t(columns_));
        const auto first = std::size_t(std::max(0, column - by)),
                   last = std::size_t(std::min(columns_ - 1, column + by));
        for (int r = std::max(0, row - by); r <= std::min(rows_ - 1, row + by); ++r)
            use(std::size_t(r) * std::size_t(columns_) + first, std::size_t(r) * std::size_t(columns_) + last);
    }

  private:
    int column(float x) const { return std::clamp(int((x - x0_) / edge_), 0, columns_ - 1); }
    int row(float y) const { return std::clamp(int((y - y0_) / edge_), 0, rows_ - 1); }
    double edge_ = 1, x0_ = 0, y0_ = 0;
    int columns_ = 1, rows_ = 1;
};

}  // namespace glint::drift
