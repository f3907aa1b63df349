// The rows of a table in nm, sorted by frame and x, to find links and pairs of localizations.
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

/// The position (nm) and the variances (nm^2) of a localization.
struct LinkRow {
    double x, y, z;
    double var_x, var_y, var_z;
    std::uint32_t row;  ///< index in the table
};

/// A view of the rows of a table, which must outlive it: sorted by frame, x and y. Rows without a finite position or
/// without a precision above 0 are left out. Uses z if its precision is known, or if `radius_nm` replaces all
/// precisions.
struct LinkRows {
    /// Throws OptionError if there are more than 2^32 - 1 rows, or if x and y have no precision and `radius_nm` is 0.
    explicit LinkRows(const Localizations& table, double radius_nm = 0);
    /// Selects the rows of `all` for which keep(index) is true. Keeps all frames.
    template <class Keep>
    LinkRows(const LinkRows& all, Keep keep)
        : frames(all.frames), max_var_x(all.max_var_x), with_z(all.with_z), table_(all.table_), fixed_(all.fixed_) {
        for (std::size_t k = 0; k < frames.size(); ++k) {
            begin.push_back(rows.size());
            for (std::size_t i = all.begin[k]; i < all.begin[k + 1]; ++i)
                if (keep(i)) rows.push_back(all.rows[i]);
        }
        begin.push_back(rows.size());
    }

    std::vector<std::uint32_t> rows;    ///< indices in the table
    std::vector<std::uint32_t> frames;  ///< frames with rows
    std::vector<std::size_t> begin;     ///< first row of each frame; then the end
    std::vector<double> max_var_x;      ///< maximum of each frame
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
    /// Returns 0 if the precision is not above 0.
    double variance(const std::vector<float>& precision, std::size_t row, double unit) const {
        if (fixed_ > 0) return fixed_;
        return precision[row] > 0 ? double(precision[row]) * precision[row] * unit * unit : 0;
    }

    const Localizations* table_;
    double fixed_;  ///< variance of all rows along each axis, nm^2; 0: from their precisions
};

/// Rows at other positions than in the table, in the frames of `of`.
struct MovedRows {
    explicit MovedRows(const LinkRows& of) : max_var_x(of.max_var_x) {}
    std::vector<LinkRow> rows;
    std::vector<std::size_t> begin;
    const std::vector<double>& max_var_x;
    double x(std::size_t k) const { return rows[k].x; }
    LinkRow at(std::size_t k) const { return rows[k]; }
};

/// Returns the squared distance, in standard deviations of the distance (eq. 13.1).
inline double scaled_distance2(const LinkRow& a, const LinkRow& b, bool with_z) {
    const double x = a.x - b.x, y = a.y - b.y;
    double sum = x * x / (a.var_x + b.var_x) + y * y / (a.var_y + b.var_y);
    if (with_z) {
        const double z = a.z - b.z;
        sum += z * z / (a.var_z + b.var_z);
    }
    return sum;
}

/// Calls pair(row of a, row of b, squared scaled distance) for each pair within `radius`. The rows are those of frame
/// `first` of `a` and frame `second` of `b` (indices into `frames`). The order is that of `a`, by x.
template <class Rows, class Pair>
void for_pairs(const Rows& a, std::size_t first, const LinkRows& b, std::size_t second, double radius, Pair pair) {
    std::size_t low = b.begin[second];
    const std::size_t end = b.begin[second + 1];
    const double reach = radius * std::sqrt(a.max_var_x[first] + b.max_var_x[second]);
    for (std::size_t i = a.begin[first]; i < a.begin[first + 1]; ++i) {
        const double x = a.x(i);
        while (low < end && b.x(low) < x - reach) ++low;
        if (low == end || b.x(low) > x + reach) continue;  // most rows have no neighbour
        const LinkRow row = a.at(i);
        for (std::size_t j = low; j < end && b.x(j) <= x + reach; ++j)
            if (const double d2 = scaled_distance2(row, b.at(j), b.with_z); d2 <= radius * radius) pair(i, j, d2);
    }
}

/// Returns one row for each of `tracks` tracks, numbered from `first`. `track` is the track of each row, from 0.
/// `links` describes the whole table.
Localizations merged_rows(const Localizations& table, std::span<const std::uint32_t> track, std::size_t tracks,
                          std::size_t first, const Links& links);

/// Returns the column `name` (n or len) of earlier links. Without it, each row is one localization and one frame long.
std::vector<double> counts_of_rows(const Localizations& table, const char* name);

/// Returns the entry that links add to the history of a table like this.
std::string history_of_links(const Links& links, const Localizations& like, bool merged);

constexpr const char* links_of_another_table = "these links belong to another table";

}  // namespace glint
