// Pairs of points that belong together: neighbours within a radius, and the best one-to-one choice among them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace glint {

/// A point of one frame; z is 0 where unknown.
struct Point {
    double x_nm = 0, y_nm = 0, z_nm = 0;
};

/// Candidate pairs, as rows of a sparse matrix: candidate k of row r, with its cost, for k in
/// [row_begin[r], row_begin[r + 1]).
struct Candidates {
    std::vector<std::size_t> row_begin;
    std::vector<int> column;
    std::vector<double> cost;
};

/// All pairs (row of `rows`, column of `columns`) no further apart than `radius_nm` in x, y and, where it is above
/// 0, `axial_radius_nm` in z; the cost is the lateral distance. Points that are not finite have none.
Candidates pairs_within(std::span<const Point> rows, std::span<const Point> columns, double radius_nm,
                        double axial_radius_nm);

/// For each row its column, or -1: as many pairs as possible and, among those choices, the smallest total cost
/// (Jonker and Volgenant's shortest augmenting paths on a sparse matrix). Costs are at most `largest_cost`.
std::vector<int> assign(const Candidates& candidates, std::size_t columns, double largest_cost);

/// For each of `from`, the squared lateral distance to the nearest of `to` (not empty), nm^2.
std::vector<double> nearest_squared(std::span<const Point> from, std::span<const Point> to);

}  // namespace glint
