// Sorts a table for links.
// SPDX-License-Identifier: MIT
#include "analysis/link/rows.hpp"

#include <tbb/parallel_sort.h>

#include <algorithm>
#include <tuple>

#include "glint/error.hpp"

namespace glint {

LinkRows::LinkRows(const Localizations& table, double radius_nm) : with_z(!table.z_nm.empty()) {
    const double pixel = table.pixel_size_nm, fixed = radius_nm > 0 ? radius_nm * radius_nm / 2 : 0;
    const auto precision = [&](const std::vector<float>& column, const char* name) {
        if (!fixed && column.empty() && table.size() > 0)
            throw OptionError(std::string("the table has no ") + name +
                              ", so distances cannot be scaled with precisions; give a radius in nm (--radius 30nm)");
    };
    precision(table.lpx_px, "lpx");
    precision(table.lpy_px, "lpy");
    if (with_z) precision(table.lpz_nm, "lpz");
    const auto square = [&](const std::vector<float>& column, std::size_t k, double unit) {
        return fixed ? fixed : column[k] > 0 ? double(column[k]) * column[k] * unit * unit : 0;
    };
    rows.reserve(table.size());
    for (std::size_t k = 0; k < table.size(); ++k) {
        const LinkRow row{table.x_px[k] * pixel,
                          table.y_px[k] * pixel,
                          with_z ? table.z_nm[k] : 0,
                          square(table.lpx_px, k, pixel),
                          square(table.lpy_px, k, pixel),
                          with_z ? square(table.lpz_nm, k, 1) : 1,
                          k};
        const double sum = row.x + row.y + row.z + row.var_x + row.var_y + row.var_z;
        if (std::isfinite(sum) && row.var_x > 0 && row.var_y > 0 && row.var_z > 0) rows.push_back(row);
    }
    tbb::parallel_sort(rows.begin(), rows.end(), [&](const LinkRow& a, const LinkRow& b) {
        return std::tuple(table.frame[a.row], a.x, a.y, a.row) < std::tuple(table.frame[b.row], b.x, b.y, b.row);
    });
    for (std::size_t k = 0; k < rows.size(); ++k) {
        const std::uint32_t frame = table.frame[rows[k].row];
        if (frames.empty() || frames.back() != frame) {
            frames.push_back(frame);
            begin.push_back(k);
            most_var_x.push_back(0);
        }
        most_var_x.back() = std::max(most_var_x.back(), rows[k].var_x);
    }
    begin.push_back(rows.size());
}

}  // namespace glint
