// Sorts points into square cells, so that neighbours are found without scanning all points.
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
    /// Creates cells with an edge of at least `edge`, or larger if the field would have too many cells. A few distant
    /// points do not make cells larger: they go into the cells at the border.
    Cells(std::span<const float> x, std::span<const float> y, double edge) : edge_(edge) {
        if (x.empty()) return;
        const double most = std::max<double>(1 << 16, 8 * double(x.size()));
        Range of_x = whole(x), of_y = whole(y);
        if (edge_for(of_x, of_y, most) > edge) of_x = max_of(x), of_y = max_of(y);
        edge_ = std::max(edge, edge_for(of_x, of_y, most));
        x0_ = of_x.low, y0_ = of_y.low;
        columns_ = int(of_x.size() / edge_) + 1, rows_ = int(of_y.size() / edge_) + 1;
    }
    double edge() const { return edge_; }
    std::size_t count() const { return std::size_t(columns_) * std::size_t(rows_); }
    std::size_t of(float x, float y) const {
        return std::size_t(row(y)) * std::size_t(columns_) + std::size_t(column(x));
    }
    /// Calls `use(cell)` for each cell that may contain points within `reach` along x and y.
    template <class Use>
    void around(double x, double y, double reach, Use use) const {
        const int c0 = column(x - reach), c1 = column(x + reach), r0 = row(y - reach), r1 = row(y + reach);
        for (int r = r0; r <= r1; ++r)
            for (int c = c0; c <= c1; ++c) use(std::size_t(r) * std::size_t(columns_) + std::size_t(c));
    }

    /// Calls `use(first, last)` with the first and the last cell of each row of cells within `reach` of a cell.
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
    struct Range {
        double low, high;
        double size() const { return high - low; }
    };
    static Range whole(std::span<const float> values) {
        const auto [low, high] = std::minmax_element(values.begin(), values.end());
        return {*low, *high};
    }
    /// Returns the range of all values but a thousandth at either end.
    static Range max_of(std::span<const float> values) {
        std::vector<float> sorted(values.begin(), values.end());
        const auto beyond = std::ptrdiff_t(sorted.size() / 1000) + 1;
        if (std::ptrdiff_t(sorted.size()) < 4 * beyond) return whole(values);
        std::nth_element(sorted.begin(), sorted.begin() + beyond, sorted.end());
        const float low = sorted[std::size_t(beyond)];
        std::nth_element(sorted.begin(), sorted.end() - 1 - beyond, sorted.end());
        return {low, sorted[sorted.size() - 1 - std::size_t(beyond)]};
    }
    static double edge_for(const Range& x, const Range& y, double max_cells) {
        return std::max(std::sqrt(x.size() * y.size() / max_cells), std::max(x.size(), y.size()) / max_cells);
    }
    int column(double x) const { return int(std::clamp(std::floor((x - x0_) / edge_), 0.0, double(columns_ - 1))); }
    int row(double y) const { return int(std::clamp(std::floor((y - y0_) / edge_), 0.0, double(rows_ - 1))); }
    double edge_ = 1, x0_ = 0, y0_ = 0;
    int columns_ = 1, rows_ = 1;
};

}  // namespace glint::drift
