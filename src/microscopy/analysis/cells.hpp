// Sorts points in 2D or 3D into the cells of a grid. Only occupied cells are stored.
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

/// A point and its row. The unit of length is the radius of the neighbourhood.
struct CellPoint {
    std::array<double, 3> at;
    std::uint32_t row;
};

inline double squared_distance(const CellPoint& a, const CellPoint& b) {
    const double x = a.at[0] - b.at[0], y = a.at[1] - b.at[1], z = a.at[2] - b.at[2];
    return x * x + y * y + z * z;
}

/// Cells in ascending order of z, y, x. Their edge is 1 / sqrt(dimensions), so all points of a cell are within 1 of
/// each other. Thread-safe after construction.
class Cells {
  public:
    /// Sorts the points by cell, and by row within a cell. `dimensions` is 2 (all z are 0) or 3. Throws OptionError if
    /// a coordinate is beyond 10^9 cells.
    Cells(std::vector<CellPoint> points, int dimensions);

    std::size_t count() const { return begin_.size() - 1; }
    std::span<const CellPoint> points(std::size_t cell) const {
        return std::span(points_).subspan(begin_[cell], begin_[cell + 1] - begin_[cell]);
    }
    std::size_t first(std::size_t cell) const { return begin_[cell]; }  ///< index of the cell's first point among all
    const std::vector<CellPoint>& all() const { return points_; }

    /// Appends the other cells whose points may be within 1 of this cell's points. With `later_only`, appends only
    /// later cells.
    void neighbors(std::size_t cell, bool later_only, std::vector<std::uint32_t>& out) const;

  private:
    int dimensions_;
    std::vector<CellPoint> points_;
    std::vector<CellIndex> index_;
    std::vector<std::uint32_t> begin_;
};

}  // namespace glint
