// Square cells, each with the numbers of its points.
// SPDX-License-Identifier: MIT
#include "pipeline/spot_grid.hpp"

#include <algorithm>
#include <cmath>

namespace glint {

SpotGrid::SpotGrid(const std::vector<GridPoint>& points, double edge_px) {
    if (!points.empty()) origin_ = points.front();
    GridPoint last = origin_;
    for (const GridPoint& p : points) {
        origin_ = {std::min(origin_.x, p.x), std::min(origin_.y, p.y)};
        last = {std::max(last.x, p.x), std::max(last.y, p.y)};
    }
    // With few points, cells are larger, so that their number stays proportional to the number of points.
    const double count = double(points.size()) + 1, width = last.x - origin_.x, height = last.y - origin_.y;
    edge_ = std::max({edge_px, std::sqrt(width * height / count), width / count, height / count});
    columns_ = place(width / edge_, int(count) + 1) + 1;
    rows_ = place(height / edge_, int(count) + 1) + 1;
    const auto number = [&](const GridPoint& p) {
        const Cell cell = cell_of(p);
        return std::size_t(cell.row) * std::size_t(columns_) + std::size_t(cell.column);
    };
    begin_.assign(std::size_t(columns_) * std::size_t(rows_) + 1, 0);
    for (const GridPoint& p : points) ++begin_[number(p) + 1];
    for (std::size_t cell = 1; cell < begin_.size(); ++cell) begin_[cell] += begin_[cell - 1];
    members_.resize(points.size());
    std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
    for (std::size_t k = 0; k < points.size(); ++k) members_[next[number(points[k])]++] = k;
}

}  // namespace glint
