// A grid over the points of a frame, which finds the points in a box without visiting all.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace glint {

struct GridPoint {
    double x, y;
};

class SpotGrid {
  public:
    /// `edge_px` > 0: approximate edge of the boxes that will be visited.
    SpotGrid(const std::vector<GridPoint>& points, double edge_px);

    /// Calls visit(k) for all points in the box from `low` to `high`, and for some points outside.
    template <class Visit>
    void visit(GridPoint low, GridPoint high, const Visit& visit) const {
        const Cell from = cell_of(low), to = cell_of(high);
        for (int row = from.row; row <= to.row; ++row) {
            const std::size_t at = std::size_t(row) * std::size_t(columns_);
            const std::size_t end = begin_[at + std::size_t(to.column) + 1];
            for (std::size_t k = begin_[at + std::size_t(from.column)]; k < end; ++k) visit(members_[k]);
        }
    }

  private:
    struct Cell {
        int column, row;
    };
    /// Returns the index of a cell along one axis, within the grid. NaN counts as 0.
    static int place(double cells, int count) { return cells > 0 ? int(std::min(cells, double(count - 1))) : 0; }
    Cell cell_of(GridPoint point) const {
        return {place((point.x - origin_.x) / edge_, columns_), place((point.y - origin_.y) / edge_, rows_)};
    }

    GridPoint origin_{0, 0};
    double edge_ = 1;
    int columns_ = 1, rows_ = 1;
    std::vector<std::size_t> begin_;    // index of each cell's first member, row by row; then the end
    std::vector<std::size_t> members_;  // numbers of points
};

}  // namespace glint
