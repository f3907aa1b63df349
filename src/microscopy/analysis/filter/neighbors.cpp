// Sorts localizations into square cells with an edge of the radius, and searches each cell and the eight around it.
// Only cells with localizations exist, so that a distant localization does not make cells larger.
// SPDX-License-Identifier: MIT
#include "analysis/filter/evaluate.hpp"

#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cmath>

#include "base/arena.hpp"
#include "glint/error.hpp"

namespace glint::conditions {
namespace {

/// The position of a cell in units of its edge: whole numbers, of any size.
struct CellPlace {
    double row, column;
    auto operator<=>(const CellPlace&) const = default;
};

struct Member {
    CellPlace cell;
    std::size_t row;
    float x, y;
};

class Grid {
  public:
    Grid(TablePieces& table, double radius) : squared_(radius * radius) {
        // Slightly larger, so that rounding never puts a neighbour two cells away.
        const double edge = radius * (1 + 1e-7);
        table.for_each([&](const Localizations& piece) {
            for (std::size_t k = 0; k < piece.size(); ++k) {
                const float x = piece.x_px[k], y = piece.y_px[k];
                if (std::isfinite(x) && std::isfinite(y))
                    members_.push_back({{std::floor(y / edge), std::floor(x / edge)}, rows_ + k, x, y});
            }
            rows_ += piece.size();
        });
        tbb::parallel_sort(members_, [](const Member& a, const Member& b) {
            return a.cell != b.cell ? a.cell < b.cell : a.row < b.row;
        });
        for (std::size_t k = 0; k < members_.size(); ++k)
            if (k == 0 || members_[k].cell != members_[k - 1].cell) begins_.push_back(k);
    }

    std::size_t rows() const { return rows_; }
    std::size_t cells() const { return begins_.size(); }

    /// Counts the neighbours of all members of a cell.
    void count(std::size_t cell, std::vector<std::uint32_t>& counts, const StopFlag* stop) const {
        const std::size_t begin = begins_[cell], end = cell + 1 < begins_.size() ? begins_[cell + 1] : members_.size();
        const CellPlace here = members_[begin].cell;
        for (const int step : {-1, 0, 1}) {
            const double row = here.row + step;
            if (step != 0 && row == here.row) continue;  // too far away for a next row in double precision
            const auto before = [](const Member& member, const CellPlace& at) { return member.cell < at; };
            const auto after = [](const CellPlace& at, const Member& member) { return at < member.cell; };
            const auto first =
                std::lower_bound(members_.begin(), members_.end(), CellPlace{row, here.column - 1}, before);
            const auto last = std::upper_bound(first, members_.end(), CellPlace{row, here.column + 1}, after);
            for (std::size_t k = begin; k < end; ++k) {
                if (stop && *stop) return;
                std::uint32_t near = 0;
                for (auto other = first; other != last; ++other) {
                    const double dx = double(other->x) - members_[k].x, dy = double(other->y) - members_[k].y;
                    near += dx * dx + dy * dy <= squared_;
                }
                counts[members_[k].row] += near - (step == 0);  // not itself
            }
        }
    }

  private:
    double squared_;
    std::size_t rows_ = 0;             ///< of the table
    std::vector<Member> members_;      ///< sorted by cell
    std::vector<std::size_t> begins_;  ///< first member of each cell
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
