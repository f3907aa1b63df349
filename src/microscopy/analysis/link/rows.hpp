// The rows of a table by frame and by x, in nm: what links and pairs of localizations are found in.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glint/link.hpp"
#include "glint/localizations.hpp"

namespace glint {

/// Position, nm, and variances, nm^2, of a localization.
struct LinkRow {
    double x, y, z;
    double var_x, var_y, var_z;
    std::uint32_t row;  ///< of the table
};

/// A view of the rows of a table, which must outlive it: sorted by frame, then x, then y. Rows whose position or precision is no number are
/// left out. z counts if its precision is known, or `radius_nm` stands in for that of all axes.
struct LinkRows {
    /// Throws OptionError without a precision of x and y, and for more than 2^32 - 1 rows.
    explicit LinkRows(const Localizations& table, double radius_nm = 0);
    /// The rows of `all` for which keep(index) is true, in all of its frames.
    template <class Keep>
    LinkRows(const LinkRows& all, Keep keep)
        : frames(all.frames), most_var_x(all.most_var_x), with_z(all.with_z), table_(all.table_), fixed_(all.fixed_) {
        for (std::size_t k = 0; k < frames.size(); ++k) {
            begin.push_back(rows.size());
            for (std::size_t i = all.begin[k]; i < all.begin[k + 1]; ++i)
                if (keep(i)) rows.push_back(all.rows[i]);
        }
        begin.push_back(rows.size());
    }

    std::vector<std::uint32_t> rows;    ///< of the table
    std::vector<std::uint32_t> frames;  ///< those that have rows
    std::vector<std::size_t> begin;     ///< of frame k of `frames`; one more, the end
    std::vector<double> most_var_x;     ///< in frame k
    bool with_z = false;

    std::size_t size() const { return rows.size(); }
    int dims() const { return with_z ? 3 : 2; }
    double x(std::size_t k) const { return table_->x_px[rows[k]] * table_->pixel_size_nm; }
    LinkRow at(std::size_t k) const { return of_table(rows[k]); }

  private:
    LinkRow of_table(std::uint32_t row) const {
        const double pixel = table_->pixel_size_nm;
        return {table_->x_px[row] * pixel,
                table_->y_px[row] * pixel,
                with_z ? table_->z_nm[row] : 0,
                variance(table_->lpx_px, row, pixel),
                variance(table_->lpy_px, row, pixel),
                with_z ? variance(table_->lpz_nm, row, 1) : 1,
                row};
    }
    /// 0 where the precision is no number above 0.
    double variance(const std::vector<float>& precision, std::size_t row, double unit) const {
        if (fixed_ > 0) return fixed_;
        return precision[row] > 0 ? double(precision[row]) * precision[row] * unit * unit : 0;
    }

    const Localizations* table_;
    double fixed_;  ///< variance of all rows along each axis, nm^2; 0: by their precisions
};

/// Rows that lie elsewhere than in the table, in the frames of `of`.
struct MovedRows {
    explicit MovedRows(const LinkRows& of) : most_var_x(of.most_var_x) {}
    std::vector<LinkRow> rows;
    std::vector<std::size_t> begin;
    const std::vector<double>& most_var_x;
    double x(std::size_t k) const { return rows[k].x; }
    LinkRow at(std::size_t k) const { return rows[k]; }
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
/// into `frames`) that are within `radius`, in the order of a, which is that of x.
template <class Rows, class Pair>
void for_pairs(const Rows& a, std::size_t first, const LinkRows& b, std::size_t second, double radius, Pair pair) {
    std::size_t low = b.begin[second];
    const std::size_t end = b.begin[second + 1];
    const double reach = radius * std::sqrt(a.most_var_x[first] + b.most_var_x[second]);
    for (std::size_t i = a.begin[first]; i < a.begin[first + 1]; ++i) {
        const double x = a.x(i);
        while (low < end && b.x(low) < x - reach) ++low;
        if (low == end || b.x(low) > x + reach) continue;  // most rows have no other near
        const LinkRow row = a.at(i);
        for (std::size_t j = low; j < end && b.x(j) <= x + reach; ++j)
            if (const double d2 = scaled_distance2(row, b.at(j), b.with_z); d2 <= radius * radius) pair(i, j, d2);
    }
}

/// A row for each of `tracks` tracks, numbered from `first` on; `track`, from 0, of each row. `links` tells of all.
Localizations merged_rows(const Localizations& table, std::span<const std::uint32_t> track, std::size_t tracks,
                          std::size_t first, const Links& links);

/// What earlier links said of rows, n or len; without, a row is one localization, and one frame long.
std::vector<double> counts_of_rows(const Localizations& table, const char* name);

/// The step that links add to the history of a table like this.
std::string history_of_links(const Links& links, const Localizations& like, bool merged);

constexpr const char* links_of_another_table = "these links are of another table";

}  // namespace glint
