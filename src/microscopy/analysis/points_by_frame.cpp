// Sorts a table by frames and converts it to nm.
// SPDX-License-Identifier: MIT
#include "analysis/points_by_frame.hpp"

#include <algorithm>
#include <numeric>

namespace glint {

PointsByFrame::PointsByFrame(const Localizations& table, bool with_z)
    : order(table.size()), frame(table.size()), points(table.size()) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return table.frame[a] < table.frame[b]; });
    for (std::size_t k = 0; k < order.size(); ++k) {
        const std::size_t row = order[k];
        frame[k] = table.frame[row];
        points[k] = {(table.x_px[row] + 0.5) * table.pixel_size_nm, (table.y_px[row] + 0.5) * table.pixel_size_nm,
                     with_z ? table.z_nm[row] : 0};
    }
}

std::size_t PointsByFrame::frame_end(std::size_t begin) const {
    return std::size_t(std::upper_bound(frame.begin() + std::ptrdiff_t(begin), frame.end(), frame[begin]) -
                       frame.begin());
}

}  // namespace glint
