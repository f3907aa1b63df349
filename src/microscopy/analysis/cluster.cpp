// Finds clusters of localizations with DBSCAN, and computes their properties and nearest-neighbour distances.
// SPDX-License-Identifier: MIT
#include "glint/cluster.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include "analysis/cells.hpp"
#include "analysis/points.hpp"
#include "analysis/require_table.hpp"
#include "base/arena.hpp"
#include "base/median.hpp"
#include "glint/progress.hpp"

namespace glint {
namespace {

using Points = std::span<const CellPoint>;
constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t cells_per_task = 256;
constexpr std::size_t few_pairs = 1u << 16;  // of two cells; for more pairs, a tree is searched

/// Calls work(cell, neighbours) for each cell, in parallel, until stopped.
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
    /// All points of a cell with at least `min_` points are cores. In other cells, the neighbours of each point are
    /// counted.
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

    /// Sets `out` to the cores of the cell.
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
    /// Finds links between cells in parallel. The joined cells do not depend on the order of the links.
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

    /// Numbers the clusters in the order of their first cores.
    void number_clusters() {
        std::vector<std::uint32_t> first_row(cells_.count(), nobody);  // by root
        for (std::size_t cell = 0; cell < cells_.count(); ++cell) {
            const Points points = cells_.points(cell);
            for (std::size_t k = 0; k < points.size(); ++k)
                if (core_[cells_.first(cell) + k]) {
                    first_row[parent_[cell]] = std::min(first_row[parent_[cell]], points[k].row);
                    break;  // points are in the order of rows
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
    /// Returns the first cluster that has a core within 1. `own` is the cluster of cores in the point's cell, or -1.
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

/// Returns the cluster of each of the `rows`, as in Clusters::label: -1 without a cluster or without a point. Empty if
/// stopped.
std::vector<std::int32_t> dbscan(const Cells& cells, std::size_t rows, std::size_t min_neighbors,
                                 const StopFlag* stop) {
    return Dbscan(cells, min_neighbors, stop).run(rows);
}

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

void check(const Localizations& table, const ClusterOptions& options) {
    require_positions(table);
    if (!(options.radius_nm > 0 && std::isfinite(options.radius_nm)))
        throw OptionError(fmt::format("a radius of {} nm: give a length, as in `radius=20nm`", options.radius_nm));
    if (!(options.axial_radius_nm >= 0 && std::isfinite(options.axial_radius_nm)))
        throw OptionError(
            fmt::format("an axial radius of {} nm: give a length, as in `axial_radius=60nm`, or 0 to leave z out",
                        options.axial_radius_nm));
    if (options.axial_radius_nm > 0 && table.z_nm.size() != table.size())
        throw OptionError("an axial radius needs z, and the localizations have none: leave out `axial_radius`");
    if (options.min_neighbors < 1)
        throw OptionError(
            fmt::format("{} neighbours of a core: give 1 or more, as in `min_neighbors=5`", options.min_neighbors));
    if (table.size() >= std::size_t(std::numeric_limits<std::int32_t>::max()))
        throw OptionError(
            fmt::format("a table of {} localizations: at most {} can be clustered: use a part of its field",
                        table.size(), std::numeric_limits<std::int32_t>::max() - 1));
}

Cells cells_of(const Localizations& table, const ClusterOptions& options) {
    const bool has_z = options.axial_radius_nm > 0;
    const double per_px = table.pixel_size_nm / options.radius_nm;
    std::vector<CellPoint> points;
    points.reserve(table.size());
    for (std::size_t k = 0; k < table.size(); ++k) {
        const CellPoint point{
            {table.x_px[k] * per_px, table.y_px[k] * per_px, has_z ? table.z_nm[k] / options.axial_radius_nm : 0},
            std::uint32_t(k)};
        if (std::isfinite(point.at[0]) && std::isfinite(point.at[1]) && std::isfinite(point.at[2]))
            points.push_back(point);
    }
    return Cells(std::move(points), has_z ? 3 : 2);
}

void put_properties(Clusters& to, const Localizations& table) {
    const std::size_t n = to.label.empty() ? 0 : std::size_t(*std::max_element(to.label.begin(), to.label.end()) + 1);
    const bool has_z = table.z_nm.size() == table.size() && table.size() > 0;
    to.size.assign(n, 0);
    for (auto* column : {&to.x_nm, &to.y_nm, &to.rms_radius_nm, &to.mean_frame, &to.std_frame}) column->assign(n, 0);
    if (has_z) to.z_nm.assign(n, 0);
    const auto for_members = [&](auto work) {
        for (std::size_t k = 0; k < to.label.size(); ++k)
            if (to.label[k] >= 0) work(k, std::size_t(to.label[k]));
    };
    const auto x = [&](std::size_t k) { return (double(table.x_px[k]) + 0.5) * table.pixel_size_nm; };
    const auto y = [&](std::size_t k) { return (double(table.y_px[k]) + 0.5) * table.pixel_size_nm; };
    for_members([&](std::size_t k, std::size_t c) {
        ++to.size[c], to.x_nm[c] += x(k), to.y_nm[c] += y(k), to.mean_frame[c] += table.frame[k];
        if (has_z) to.z_nm[c] += table.z_nm[k];
    });
    for (std::size_t c = 0; c < n; ++c) {
        for (auto* column : {&to.x_nm, &to.y_nm, &to.mean_frame}) (*column)[c] /= to.size[c];
        if (has_z) to.z_nm[c] /= to.size[c];
    }
    for_members([&](std::size_t k, std::size_t c) {
        const double dx = x(k) - to.x_nm[c], dy = y(k) - to.y_nm[c], dt = table.frame[k] - to.mean_frame[c];
        to.rms_radius_nm[c] += dx * dx + dy * dy, to.std_frame[c] += dt * dt;
    });
    for (std::size_t c = 0; c < n; ++c)
        for (auto* column : {&to.rms_radius_nm, &to.std_frame}) (*column)[c] = std::sqrt((*column)[c] / to.size[c]);
}

/// Returns the median distance to the nearest other point in nm. Runs in parallel.
double median_nearest_nm(const std::vector<Point>& points) {
    if (points.size() < 2) return unknown;
    const Nearest nearest(points);
    std::vector<float> distance(points.size());
    in_own_arena([&] {
        tbb::parallel_for(std::size_t{0}, points.size(),
                          [&](std::size_t k) { distance[k] = float(std::sqrt(nearest.squared(points[k], k))); });
    });
    return median(std::move(distance));
}

void put_distances(Clusters& to, const Localizations& table, const Cells& cells) {
    std::vector<Point> points;
    points.reserve(cells.all().size());
    for (const CellPoint& point : cells.all())
        points.push_back({table.x_px[point.row] * table.pixel_size_nm, table.y_px[point.row] * table.pixel_size_nm, 0});
    to.nearest_nm = median_nearest_nm(points);
    points.clear();
    for (std::size_t c = 0; c < to.size.size(); ++c) points.push_back({to.x_nm[c], to.y_nm[c], 0});
    to.nearest_center_nm = median_nearest_nm(points);
    // For random points, the probability of no neighbour within r is exp(-pi density r^2).
    const double field_nm2 = double(table.width) * table.height * table.pixel_size_nm * table.pixel_size_nm;
    const bool is_known = field_nm2 > 0 && to.size.size() > 1;
    to.nearest_random_nm =
        is_known ? std::sqrt(std::numbers::ln2 * field_nm2 / (std::numbers::pi * double(to.size.size()))) : unknown;
}

}  // namespace

Clusters cluster(const Localizations& localizations, const ClusterOptions& options) {
    check(localizations, options);
    Clusters result;
    const Cells cells = cells_of(localizations, options);
    result.label = dbscan(cells, localizations.size(), std::size_t(options.min_neighbors), options.stop);
    if (options.stop && *options.stop) return result;
    put_properties(result, localizations);
    put_distances(result, localizations, cells);
    return result;
}

}  // namespace glint
