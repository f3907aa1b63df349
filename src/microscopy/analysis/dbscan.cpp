// Cores, then clusters of cells that have cores near each other, then what lies at their borders.
// SPDX-License-Identifier: MIT
#include "analysis/dbscan.hpp"

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "analysis/nearest.hpp"
#include "base/arena.hpp"

namespace glint {
namespace {

using Points = std::span<const CellPoint>;
constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t cells_per_task = 256;
constexpr std::size_t few_pairs = 1u << 16;  // of two cells; more are searched by a tree

/// For each cell, in parallel: work(cell, neighbours), until stopped.
template <class Work>
void for_cells(const Cells& cells, bool later_only, const StopFlag* stop, const Work& work) {
    in_own_arena([&] {
        tbb::parallel_for(tbb::blocked_range<std::size_t>(0, cells.count(), cells_per_task), [&](const auto& range) {
            std::vector<std::uint32_t> others;
            for (std::size_t cell = range.begin(); cell < range.end(); ++cell) {
                if (stop && *stop) return;
                const auto neighbors = [&]() -> const std::vector<std::uint32_t>& {
                    others.clear();
                    cells.neighbors(cell, later_only, others);
                    return others;
                };
                work(cell, neighbors);
            }
        });
    });
}

class Dbscan {
  public:
    Dbscan(const Cells& cells, std::size_t min_neighbors, const StopFlag* stop)
        : cells_(cells), min_(min_neighbors), stop_(stop), core_(cells.all().size(), 0), parent_(cells.count()) {}

    std::vector<std::int32_t> run(std::size_t rows) {
        find_cores();
        join_cells();
        if (stop_ && *stop_) return {};
        std::vector<std::int32_t> labels(rows, -1);
        number_clusters();
        label_rows(labels);
        if (stop_ && *stop_) return {};
        return labels;
    }

  private:
    /// All points of a cell that has enough are cores; the others are counted.
    void find_cores() {
        for_cells(cells_, false, stop_, [&](std::size_t cell, const auto& neighbors) {
            const Points points = cells_.points(cell);
            char* core = core_.data() + cells_.first(cell);
            if (points.size() >= min_) return std::fill_n(core, points.size(), char(1)), void();
            const auto& others = neighbors();
            for (std::size_t k = 0; k < points.size(); ++k) core[k] = has_enough(points[k], points.size(), others);
        });
    }
    bool has_enough(const CellPoint& point, std::size_t count, const std::vector<std::uint32_t>& others) const {
        for (std::uint32_t other : others)
            for (const CellPoint& near : cells_.points(other))
                if (squared_distance(point, near) <= 1 && ++count >= min_) return true;
        return false;
    }

    /// The cell's cores.
    void cores_of(std::size_t cell, std::vector<CellPoint>& out) const {
        out.clear();
        const Points points = cells_.points(cell);
        for (std::size_t k = 0; k < points.size(); ++k)
            if (core_[cells_.first(cell) + k]) out.push_back(points[k]);
    }
    static bool near(const std::vector<CellPoint>& a, const std::vector<CellPoint>& b) {
        if (a.size() * b.size() <= few_pairs) {
            for (const CellPoint& p : a)
                for (const CellPoint& q : b)
                    if (squared_distance(p, q) <= 1) return true;
            return false;
        }
        const auto& [many, few] = a.size() > b.size() ? std::tie(a, b) : std::tie(b, a);
        std::vector<Point> points;
        for (const CellPoint& p : many) points.push_back({p.at[0], p.at[1], p.at[2]});
        const Nearest tree(points);
        return std::any_of(few.begin(), few.end(), [&, &tree_of = tree](const CellPoint& p) {
            return tree_of.squared({p.at[0], p.at[1], p.at[2]}) <= 1;
        });
    }
    /// Links between cells are found in parallel; which cells they join does not depend on their order.
    void join_cells() {
        tbb::enumerable_thread_specific<std::vector<std::pair<std::uint32_t, std::uint32_t>>> links;
        for_cells(cells_, true, stop_, [&](std::size_t cell, const auto& neighbors) {
            thread_local std::vector<CellPoint> mine, theirs;
            cores_of(cell, mine);
            if (mine.empty()) return;
            for (std::uint32_t other : neighbors()) {
                cores_of(other, theirs);
                if (near(mine, theirs)) links.local().emplace_back(std::uint32_t(cell), other);
            }
        });
        std::iota(parent_.begin(), parent_.end(), 0u);
        for (const auto& some : links)
            for (const auto& [a, b] : some) parent_[root(a)] = root(b);
        for (std::uint32_t cell = 0; cell < parent_.size(); ++cell) parent_[cell] = root(cell);
    }
    std::uint32_t root(std::uint32_t cell) {
        while (parent_[cell] != cell) cell = parent_[cell] = parent_[parent_[cell]];
        return cell;
    }

    /// Clusters in the order of their first cores.
    void number_clusters() {
        std::vector<std::uint32_t> first_row(cells_.count(), nobody);  // by root
        for (std::size_t cell = 0; cell < cells_.count(); ++cell) {
            const Points points = cells_.points(cell);
            for (std::size_t k = 0; k < points.size(); ++k)
                if (core_[cells_.first(cell) + k]) {
                    first_row[parent_[cell]] = std::min(first_row[parent_[cell]], points[k].row);
                    break;  // they are in the order of rows
                }
        }
        std::vector<std::uint32_t> roots;
        for (std::uint32_t cell = 0; cell < first_row.size(); ++cell)
            if (first_row[cell] != nobody) roots.push_back(cell);
        std::sort(roots.begin(), roots.end(),
                  [&](std::uint32_t a, std::uint32_t b) { return first_row[a] < first_row[b]; });
        number_.assign(cells_.count(), -1);
        for (std::size_t k = 0; k < roots.size(); ++k) number_[roots[k]] = std::int32_t(k);
    }

    void label_rows(std::vector<std::int32_t>& labels) {
        for_cells(cells_, false, stop_, [&](std::size_t cell, const auto& neighbors) {
            const Points points = cells_.points(cell);
            const char* core = core_.data() + cells_.first(cell);
            const std::int32_t own = number_[parent_[cell]];
            const bool has_cores = std::find(core, core + points.size(), char(1)) != core + points.size();
            const std::vector<std::uint32_t>* others = nullptr;
            for (std::size_t k = 0; k < points.size(); ++k) {
                if (!core[k] && !others) others = &neighbors();
                labels[points[k].row] = core[k] ? own : border_label(points[k], has_cores ? own : -1, *others);
            }
        });
    }
    /// The first of the clusters that have a core within 1; `own`: that of cores in the point's cell, -1 for none.
    std::int32_t border_label(const CellPoint& point, std::int32_t own,
                              const std::vector<std::uint32_t>& others) const {
        std::int32_t label = own;
        for (std::uint32_t other : others) {
            const std::int32_t theirs = number_[parent_[other]];
            if (theirs < 0 || (label >= 0 && theirs >= label)) continue;
            const Points points = cells_.points(other);
            for (std::size_t k = 0; k < points.size(); ++k)
                if (core_[cells_.first(other) + k] && squared_distance(point, points[k]) <= 1) {
                    label = theirs;
                    break;
                }
        }
        return label;
    }

    const Cells& cells_;
    std::size_t min_;
    const StopFlag* stop_;
    std::vector<char> core_;  ///< by point, in the order of cells
    std::vector<std::uint32_t> parent_;
    std::vector<std::int32_t> number_;  ///< of a cluster, by its root
};

}  // namespace

std::vector<std::int32_t> dbscan(const Cells& cells, std::size_t rows, std::size_t min_neighbors,
                                 const StopFlag* stop) {
    return Dbscan(cells, min_neighbors, stop).run(rows);
}

}  // namespace glint
