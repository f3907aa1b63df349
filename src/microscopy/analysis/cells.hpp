// Points of the plane or of space in the cells of a grid, of which only those that hold points exist.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace glint {

/// Indices of a cell along x, y, z.
using CellIndex = std::array<std::int32_t, 3>;

/// A point and its row, in units in which the radius of its neighbourhood is 1.
struct CellPoint {
    std::array<double, 3> at;
    std::uint32_t row;
};

inline double squared_distance(const CellPoint& a, const CellPoint& b) {
    const double x = a.at[0] - b.at[0], y = a.at[1] - b.at[1], z = a.at[2] - b.at[2];
    return x * x + y * y + z * z;
}

/// Cells of edge 1 / sqrt(dimensions), so that all points of one are within 1 of each other; in ascending order of z, y, x. Thread-safe
/// once it is built.
class Cells {
  public:
    /// The points are sorted by cells, and by rows within. `dimensions`: 2 (all z 0) or 3. Throws OptionError where a coordinate is beyond
    /// 10^9 cells.
    Cells(std::vector<CellPoint> points, int dimensions);

    std::size_t count() const { return begin_.size() - 1; }
    std::span<const CellPoint> points(std::size_t cell) const {
        return std::span(points_).subspan(begin_[cell], begin_[cell + 1] - begin_[cell]);
    }
    std::size_t first(std::size_t cell) const { return begin_[cell]; }  ///< index of the cell's first point among all
    const std::vector<CellPoint>& all() const { return points_; }

    /// Appends the other cells whose points may be within 1 of this cell's; with `later_only` those that come after it.
    void neighbors(std::size_t cell, bool later_only, std::vector<std::uint32_t>& out) const;

  private:
    int dimensions_;
    std::vector<CellPoint> points_;
    std::vector<CellIndex> index_;
    std::vector<std::uint32_t> begin_;
};

}  // namespace glint
