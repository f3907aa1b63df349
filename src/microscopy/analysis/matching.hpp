// Matching of points: candidate pairs within a radius, and the optimal one-to-one assignment among them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analysis/point.hpp"

namespace glint {

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

}  // namespace glint
