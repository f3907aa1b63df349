// The steps to which the page's columns are rounded.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace glint {

/// The cell of a NaN.
constexpr std::uint8_t nan_cell = 255;
/// Steps between the first and the last edge of a column that is not an integer.
constexpr int usual_cells = 90;

/// The cells of a column. Cell k contains edges[k-1] <= value < edges[k]; the first and the last cell are open. Edges
/// are decimal numbers with few digits. Text with all digits of an edge, as conditions contain it, is the same number.
struct ValueCells {
    std::vector<double> edges;  ///< ascending; at most 254
    bool is_log = false;        ///< edges are evenly spaced on a logarithmic scale
    bool is_integer = false;    ///< each cell is one integer

    /// Returns the number of edges that are not above the value.
    std::uint8_t of(double value) const {
        if (value != value) return nan_cell;
        return std::uint8_t(std::upper_bound(edges.begin(), edges.end(), value) - edges.begin());
    }
};

/// Returns cells for values like those of `sample`, which may contain NaN: on a logarithmic scale if they differ by
/// more than a factor of 8, from the 0.1th to the 99.9th percentile.
ValueCells make_cells(std::vector<double> sample);
/// Returns one cell per integer, or cells of several integers if there are more than 250.
ValueCells make_integer_cells(double min, double max);
/// Returns cells for probabilities, from 1e-6 to 1 on a logarithmic scale.
ValueCells make_probability_cells();

}  // namespace glint
