// The rows of a table in the order of frames, as points.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/point.hpp"
#include "glint/localizations.hpp"

namespace glint {

/// Positions in nm from the sensor's edge; z is 0 unless it counts.
struct PointsByFrame {
    PointsByFrame(const Localizations& table, bool with_z);

    std::vector<std::size_t> order;  ///< row indices of the table
    std::vector<std::uint32_t> frame;
    std::vector<Point> points;

    /// End of the rows in the same frame as row `begin`.
    std::size_t frame_end(std::size_t begin) const;
    std::span<const Point> rows(std::size_t begin, std::size_t end) const {
        return std::span(points).subspan(begin, end - begin);
    }
};

}  // namespace glint
