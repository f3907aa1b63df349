// The rows of a table by frame and by x, in nm: what links and pairs of localizations are found in.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "glint/localizations.hpp"

namespace glint {

/// Position, nm, and variances, nm^2, of a localization.
struct LinkRow {
    double x, y, z;
    double var_x, var_y, var_z;
    std::size_t row;  ///< of the table
};

/// Sorted by frame, then x, then y. Rows whose position or precision is no number are left out.
struct LinkRows {
    explicit LinkRows(const Localizations& table, double radius_nm = 0);

    std::vector<LinkRow> rows;
    std::vector<std::uint32_t> frames;  ///< those that have rows
    std::vector<std::size_t> begin;     ///< of frame k of `frames`; one more, the end
    std::vector<double> most_var_x;     ///< in frame k
    bool with_z = false;
    int dims() const { return with_z ? 3 : 2; }
};

/// The squared distance in standard deviations of the distance (eq. 13.1).
inline double scaled_distance2(const LinkRow& a, const LinkRow& b, bool with_z) {
    const double x = a.x - b.x, y = a.y - b.y;
    double sum = x * x / (a.var_x + b.var_x) + y * y / (a.var_y + b.var_y);
    if (with_z) {
        const double z = a.z - b.z;
        sum += z * z / (a.var_z + b.var_z);
    }
    return sum;
}

/// Calls pair(row of `first`, row of `second`, squared scaled distance) for each two rows of two frames (indices into `frames`) that are
/// within `radius`, in the order of the first.
template <class Pair>
void for_pairs(const LinkRows& rows, std::size_t first, std::size_t second, double radius, Pair pair) {
    std::size_t low = rows.begin[second];
    const std::size_t end = rows.begin[second + 1];
    const double most = rows.most_var_x[first] + rows.most_var_x[second], reach = radius * std::sqrt(most);
    for (std::size_t i = rows.begin[first]; i < rows.begin[first + 1]; ++i) {
        const LinkRow& a = rows.rows[i];
        const double own = radius * std::sqrt(a.var_x + rows.most_var_x[second]);
        while (low < end && rows.rows[low].x < a.x - reach) ++low;
        for (std::size_t j = low; j < end && rows.rows[j].x <= a.x + own; ++j) {
            const double d2 = scaled_distance2(a, rows.rows[j], rows.with_z);
            if (d2 <= radius * radius) pair(i, j, d2);
        }
    }
}

}  // namespace glint
