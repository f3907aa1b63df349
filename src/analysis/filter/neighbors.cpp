// Sorts localizations into square cells of the radius's edge, and looks into each cell and the eight around it.
// SPDX-License-Identifier: MIT
#include "analysis/filter/neighbors.hpp"

#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cmath>

#include "base/arena.hpp"
#include "glint/error.hpp"

namespace glint::conditions {
namespace {

constexpr double most_cells = 1 << 24;  ///< along an edge

struct Member {
    std::uint64_t cell;  ///< row of cells in the upper half, column in the lower one
    std::size_t row;
    float x, y;
};

class Grid {
  public:
    Grid(TablePieces& table, double radius) : squared_(radius * radius) {
        float left = 0, top = 0, right = 0, bottom = 0;
        table.for_each([&](const Localizations& piece) {
            for (std::size_t k = 0; k < piece.size(); ++k) {
                const float x = piece.x_px[k], y = piece.y_px[k];
                if (!std::isfinite(x) || !std::isfinite(y)) continue;
                if (members_.empty()) left = right = x, top = bottom = y;
                left = std::min(left, x), right = std::max(right, x);
                top = std::min(top, y), bottom = std::max(bottom, y);
                members_.push_back({0, rows_ + k, x, y});
            }
            rows_ += piece.size();
        });
        const double extent = std::max(double(right) - left, double(bottom) - top);
        const double edge = std::max(radius, extent / most_cells);
        for (Member& member : members_) {
            const auto column = std::uint64_t((double(member.x) - left) / edge) + 1;  // from 1: none is left of 0
            const auto row = std::uint64_t((double(member.y) - top) / edge) + 1;
            member.cell = row << 32 | column;
        }
        tbb::parallel_sort(members_, [](const Member& a, const Member& b) {
            return a.cell != b.cell ? a.cell < b.cell : a.row < b.row;
        });
        for (std::size_t k = 0; k < members_.size(); ++k)
            if (k == 0 || members_[k].cell != members_[k - 1].cell) begins_.push_back(k);
    }

    std::size_t rows() const { return rows_; }
    std::size_t cells() const { return begins_.size(); }

    /// The neighbours of all members of a cell.
    void count(std::size_t cell, std::vector<std::uint32_t>& counts, const StopFlag* stop) const {
        const std::size_t begin = begins_[cell], end = cell + 1 < begins_.size() ? begins_[cell + 1] : members_.size();
        const std::uint64_t here = members_[begin].cell;
        for (const std::uint64_t row : {here - (std::uint64_t{1} << 32), here, here + (std::uint64_t{1} << 32)}) {
            const auto before = [](const Member& member, std::uint64_t at) { return member.cell < at; };
            const auto first = std::lower_bound(members_.begin(), members_.end(), row - 1, before);
            const auto last = std::lower_bound(first, members_.end(), row + 2, before);
            for (std::size_t k = begin; k < end; ++k) {
                if (stop && *stop) return;
                std::uint32_t near = 0;
                for (auto other = first; other != last; ++other) {
                    const double dx = double(other->x) - members_[k].x, dy = double(other->y) - members_[k].y;
                    near += dx * dx + dy * dy <= squared_;
                }
                counts[members_[k].row] += near - (row == here);  // not itself
            }
        }
    }

  private:
    double squared_;
    std::size_t rows_ = 0;             ///< of the table
    std::vector<Member> members_;      ///< sorted by cell
    std::vector<std::size_t> begins_;  ///< of each cell that has any
};

}  // namespace

std::vector<std::uint32_t> count_neighbors(TablePieces& table, double radius_px, const StopFlag* stop) {
    std::vector<std::uint32_t> counts;
    in_own_arena([&] {
        const Grid grid(table, radius_px);
        counts.resize(grid.rows());
        tbb::parallel_for(std::size_t{0}, grid.cells(), [&](std::size_t cell) { grid.count(cell, counts, stop); });
    });
    if (stop && *stop) throw Cancelled("stopped while neighbours were counted");
    return counts;
}

}  // namespace glint::conditions
