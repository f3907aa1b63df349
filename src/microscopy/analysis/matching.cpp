// Neighbour search in a grid of cells, and assignment by shortest augmenting paths (docs/explanation/theory.md, section
// 8).
// SPDX-License-Identifier: MIT
#include "analysis/points.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

namespace glint {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Sort key of a point: its row of cells (the edge of a cell is the radius), then x.
struct Cell {
    double row, x_nm;
    int index;
    bool operator<(const Cell& other) const { return std::pair(row, x_nm) < std::pair(other.row, other.x_nm); }
};

std::vector<Cell> sorted_cells(std::span<const Point> points, double edge_nm) {
    std::vector<Cell> cells;
    for (std::size_t k = 0; k < points.size(); ++k)
        if (is_finite(points[k])) cells.push_back({std::floor(points[k].y_nm / edge_nm), points[k].x_nm, int(k)});
    std::sort(cells.begin(), cells.end());
    return cells;
}

double largest_of(const std::vector<double>& costs) {
    const double largest = costs.empty() ? 0 : *std::max_element(costs.begin(), costs.end());
    return largest > 0 ? largest : 1;
}

/// The state of the assignment: matched pairs, and dual variables that keep every reduced cost >= 0. Costs are relative
/// to the largest cost, so their sums are finite and precise. An unmatched row costs `single_`, more than any
/// reassignment can save. The number of pairs is therefore maximal.
class Assignment {
  public:
    Assignment(const Candidates& candidates, std::size_t columns)
        : candidates_(candidates),
          largest_cost_(largest_of(candidates.cost)),
          single_(double(candidates.row_begin.size())),
          row_price_(candidates.row_begin.size() - 1, 0.0),
          column_price_(columns, 0.0),
          column_of_row_(row_price_.size(), -1),
          row_of_column_(columns, -1),
          distance_(columns, infinity),
          parent_row_(columns, -1) {}

    /// Augments along the shortest path from `start`. The path matches `start`, or leaves one row unmatched.
    void augment(int start) {
        reset();
        reach_row(start, 0);
        int end = -1;
        while (!open_.empty()) {
            const auto [distance, column] = open_.top();
            if (distance >= end_distance_) break;
            open_.pop();
            if (distance > distance_[column]) continue;  // an outdated entry of the priority queue
            if (row_of_column_[column] < 0) {
                end = column, end_distance_ = distance;
                break;
            }
            closed_.push_back(column);
            reach_row(row_of_column_[column], distance);
        }
        update_prices();
        if (end < 0) end = leave_single();
        if (end >= 0) flip(start, end);
    }

    const std::vector<int>& column_of_row() const { return column_of_row_; }

  private:
    struct Reached {
        int row;
        double distance;
    };

    void reset() {
        for (int column : touched_) distance_[column] = infinity;
        touched_.clear(), closed_.clear(), rows_.clear();
        open_ = {};
        end_distance_ = infinity;
    }

    void reach_row(int row, double distance) {
        rows_.push_back({row, distance});
        if (const double single = distance + single_ - row_price_[row]; single < end_distance_)
            end_distance_ = single, single_row_ = row;
        for (std::size_t k = candidates_.row_begin[row]; k < candidates_.row_begin[row + 1]; ++k) {
            const int column = candidates_.column[k];
            // Rounding can make the cost negative, which must not reopen a closed column.
            const double reduced_cost = candidates_.cost[k] / largest_cost_ - row_price_[row] - column_price_[column];
            const double way = distance + std::max(reduced_cost, 0.0);
            if (way >= distance_[column]) continue;
            if (distance_[column] == infinity) touched_.push_back(column);
            distance_[column] = way;
            parent_row_[column] = row;
            open_.push({way, column});
        }
    }

    void update_prices() {
        for (const Reached& reached : rows_) row_price_[reached.row] += end_distance_ - reached.distance;
        for (int column : closed_) column_price_[column] += distance_[column] - end_distance_;
    }

    /// Unmatches the row that is cheapest to leave unmatched. Returns its column, where the path ends, or -1 if the row
    /// is the start and nothing changes.
    int leave_single() {
        const int column = column_of_row_[single_row_];
        column_of_row_[single_row_] = -1;
        return column;
    }

    void flip(int start, int end) {
        for (int column = end;;) {
            const int row = parent_row_[column];
            const int before = column_of_row_[row];
            row_of_column_[column] = row;
            column_of_row_[row] = column;
            if (row == start) return;
            column = before;
        }
    }

    const Candidates& candidates_;
    double largest_cost_, single_;
    std::vector<double> row_price_, column_price_;
    std::vector<int> column_of_row_, row_of_column_;
    // Buffers of one search.
    std::vector<double> distance_;
    std::vector<int> parent_row_, touched_, closed_;
    std::vector<Reached> rows_;
    std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>> open_;
    double end_distance_ = infinity;
    int single_row_ = -1;
};

}  // namespace

Candidates pairs_within(std::span<const Point> rows, std::span<const Point> columns, double radius_nm,
                        double axial_radius_nm) {
    const std::vector<Cell> cells = sorted_cells(columns, radius_nm);
    Candidates found;
    found.row_begin.push_back(0);
    for (const Point& p : rows) {
        const double row = std::floor(p.y_nm / radius_nm);
        for (int step = -1; is_finite(p) && step <= 1; ++step) {
            const double near = row + step;
            if (step > -1 && near == row + (step - 1)) continue;  // so far out that doubles do not resolve integers
            auto cell = std::lower_bound(cells.begin(), cells.end(), Cell{near, p.x_nm - radius_nm, 0});
            for (; cell != cells.end() && cell->row == near && cell->x_nm <= p.x_nm + radius_nm; ++cell) {
                const Point& q = columns[cell->index];
                const double distance = std::hypot(p.x_nm - q.x_nm, p.y_nm - q.y_nm);
                if (distance > radius_nm) continue;
                if (axial_radius_nm > 0 && std::abs(p.z_nm - q.z_nm) > axial_radius_nm) continue;
                found.column.push_back(cell->index);
                found.cost.push_back(distance);
            }
        }
        found.row_begin.push_back(found.column.size());
    }
    return found;
}

std::vector<int> assign(const Candidates& candidates, std::size_t columns) {
    const std::size_t rows = candidates.row_begin.size() - 1;
    Assignment assignment(candidates, columns);
    for (std::size_t row = 0; row < rows; ++row)
        if (candidates.row_begin[row] != candidates.row_begin[row + 1]) assignment.augment(int(row));
    return assignment.column_of_row();
}

}  // namespace glint
