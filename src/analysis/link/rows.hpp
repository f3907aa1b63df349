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
    /// The rows of `all` for which keep(index) is true, in all of its frames.
    template <class Keep>
    LinkRows(const LinkRows& all, Keep keep) : frames(all.frames), most_var_x(all.most_var_x), with_z(all.with_z) {
        for (std::size_t k = 0; k < frames.size(); ++k) {
            begin.push_back(rows.size());
            for (std::size_t i = all.begin[k]; i < all.begin[k + 1]; ++i)
                if (keep(i)) rows.push_back(all.rows[i]);
        }
        begin.push_back(rows.size());
    }

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

/// Calls pair(row of a, row of b, squared scaled distance) for each two rows of frame `first` of `a` and frame `second` of `b` (indices
/// into `frames`) that are within `radius`, in the order of a.
template <class Pair>
void for_pairs(const LinkRows& a, std::size_t first, const LinkRows& b, std::size_t second, double radius, Pair pair) {
    std::size_t low = b.begin[second];
    const std::size_t end = b.begin[second + 1];
    const double reach = radius * std::sqrt(a.most_var_x[first] + b.most_var_x[second]);
    for (std::size_t i = a.begin[first]; i < a.begin[first + 1]; ++i) {
        const LinkRow& row = a.rows[i];
        const double own = radius * std::sqrt(row.var_x + b.most_var_x[second]);
        while (low < end && b.rows[low].x < row.x - reach) ++low;
        for (std::size_t j = low; j < end && b.rows[j].x <= row.x + own; ++j)
            if (const double d2 = scaled_distance2(row, b.rows[j], a.with_z); d2 <= radius * radius) pair(i, j, d2);
    }
}

}  // namespace glint
