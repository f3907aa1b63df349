// Matching of points: candidate pairs within a radius, and the optimal one-to-one assignment among them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace glint {

/// A point of one frame, nm; z is 0 if unknown.
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

/// All pairs (row of `rows`, column of `columns`) within `radius_nm` in x, y and, if it is above 0, `axial_radius_nm`
/// in z; the cost is the lateral distance. Non-finite points have no pairs.
Candidates pairs_within(std::span<const Point> rows, std::span<const Point> columns, double radius_nm,
                        double axial_radius_nm);

/// For each row its column, or -1: the largest number of pairs and, among such matchings, the smallest total cost
/// (shortest augmenting paths on a sparse matrix; Jonker and Volgenant, Computing 38, 325 (1987)). Costs are finite and
/// not below 0.
std::vector<int> assign(const Candidates& candidates, std::size_t columns);

/// For each of `from`, the squared lateral distance to the nearest of `to` (not empty), nm^2.
std::vector<double> nearest_squared(std::span<const Point> from, std::span<const Point> to);

}  // namespace glint
