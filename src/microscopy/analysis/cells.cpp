// Sorts points by cell. Finds rows of neighbouring cells by bisection.
// SPDX-License-Identifier: MIT
#include "analysis/cells.hpp"

#include <fmt/format.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/arena.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

constexpr double max_cells = 1e9;

bool before(const CellIndex& a, const CellIndex& b) { return std::tie(a[2], a[1], a[0]) < std::tie(b[2], b[1], b[0]); }

CellIndex cell_of(const CellPoint& point, int dimensions) {
    CellIndex index{};
    // A little smaller than the largest possible cell, so that rounding never puts two points of a cell beyond the
    // radius.
    const double per_radius = std::sqrt(double(dimensions)) * (1 + 1e-9);
    for (int k = 0; k < dimensions; ++k) {
        const double cell = std::floor(point.at[std::size_t(k)] * per_radius);
        if (!(std::abs(cell) < max_cells))
            throw OptionError(fmt::format(
                "a position is {:g} radii from the origin: give a larger radius, or remove far-off positions",
                point.at[std::size_t(k)]));
        index[std::size_t(k)] = std::int32_t(cell);
    }
    return index;
}

/// Returns whether cells at this distance can have points within 1 of each other, by their nearest corners.
bool can_touch(const CellIndex& apart, int dimensions) {
    std::int32_t squared = 0;
    for (std::int32_t cells : apart) {
        const std::int32_t between = std::max(std::abs(cells) - 1, 0);
        squared += between * between;
    }
    return squared <= dimensions;
}

}  // namespace

Cells::Cells(std::vector<CellPoint> points, int dimensions) : dimensions_(dimensions) {
    struct Sorted {
        CellIndex index;
        std::uint32_t from, row;
    };
    std::vector<Sorted> order(points.size());
    for (std::size_t k = 0; k < points.size(); ++k)
        order[k] = {cell_of(points[k], dimensions), std::uint32_t(k), points[k].row};
    in_own_arena([&] {
        tbb::parallel_sort(order.begin(), order.end(), [](const Sorted& a, const Sorted& b) {
            return std::tie(a.index[2], a.index[1], a.index[0], a.row) <
                   std::tie(b.index[2], b.index[1], b.index[0], b.row);
        });
    });
    points_.reserve(points.size());
    for (const Sorted& sorted : order) {
        if (index_.empty() || index_.back() != sorted.index) {
            index_.push_back(sorted.index);
            begin_.push_back(std::uint32_t(points_.size()));
        }
        points_.push_back(points[sorted.from]);
    }
    begin_.push_back(std::uint32_t(points_.size()));
}

void Cells::neighbors(std::size_t cell, bool later_only, std::vector<std::uint32_t>& out) const {
    const CellIndex here = index_[cell];
    const std::int32_t deep = dimensions_ == 3 ? 2 : 0;
    for (std::int32_t z = later_only ? 0 : -deep; z <= deep; ++z)
        for (std::int32_t y = later_only && z == 0 ? 0 : -2; y <= 2; ++y) {
            const CellIndex from{here[0] - 2, here[1] + y, here[2] + z};
            // Most rows of a grid are close to each other in the list.
            auto found = std::lower_bound(index_.begin(), index_.end(), from, before);
            for (; found != index_.end() && (*found)[2] == from[2] && (*found)[1] == from[1] &&
                   (*found)[0] <= here[0] + 2;
                 ++found) {
                const auto other = std::size_t(found - index_.begin());
                if (other == cell || (later_only && other < cell)) continue;
                if (can_touch({(*found)[0] - here[0], y, z}, dimensions_)) out.push_back(std::uint32_t(other));
            }
        }
}

}  // namespace glint
