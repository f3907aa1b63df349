// Sorts the rows of a table for linking.
// SPDX-License-Identifier: MIT
#include "analysis/link/rows.hpp"

#include <fmt/format.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "analysis/require_table.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

void require_linkable(const Localizations& table, double radius_nm) {
    constexpr std::size_t max_rows = std::numeric_limits<std::uint32_t>::max();
    if (table.size() > max_rows)
        throw OptionError(
            fmt::format("the table has {} rows; the maximum for linking is {}: choose rows with glint filter",
                        table.size(), max_rows));
    for (const auto& [column, name] : {std::pair(&table.lpx_px, "lpx"), std::pair(&table.lpy_px, "lpy")})
        if (!(radius_nm > 0) && column->empty() && table.size() > 0)
            throw OptionError(
                fmt::format("the table has no {}, so distances cannot be scaled with precisions; give a radius in nm "
                            "(`radius=30nm`)",
                            name));
}

}  // namespace

LinkRows::LinkRows(const Localizations& table, double radius_nm)
    : with_z(!table.z_nm.empty() && (radius_nm > 0 || has_axial_precision(table))),
      table_(&table),
      fixed_(radius_nm > 0 ? radius_nm * radius_nm / 2 : 0) {
    require_linkable(table, radius_nm);
    rows.reserve(table.size());
    for (std::size_t k = 0; k < table.size(); ++k) {
        const LinkRow row = of_table(std::uint32_t(k));
        const double sum = row.x + row.y + row.z + row.var_x + row.var_y + row.var_z;
        if (std::isfinite(sum) && row.var_x > 0 && row.var_y > 0 && row.var_z > 0) rows.push_back(row.row);
    }
    tbb::parallel_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::tuple(table.frame[a], table.x_px[a], table.y_px[a], a) <
               std::tuple(table.frame[b], table.x_px[b], table.y_px[b], b);
    });
    for (std::size_t k = 0; k < rows.size(); ++k) {
        const std::uint32_t frame = table.frame[rows[k]];
        if (frames.empty() || frames.back() != frame) {
            frames.push_back(frame);
            begin.push_back(k);
            max_var_x.push_back(0);
        }
        max_var_x.back() = std::max(max_var_x.back(), at(k).var_x);
    }
    begin.push_back(rows.size());
}

}  // namespace glint
