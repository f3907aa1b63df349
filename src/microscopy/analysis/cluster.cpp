// Clusters of localizations: DBSCAN, what clusters are like, and distances to nearest neighbours.
// SPDX-License-Identifier: MIT
#include "glint/cluster.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "analysis/dbscan.hpp"
#include "analysis/nearest.hpp"
#include "analysis/require_table.hpp"
#include "base/arena.hpp"
#include "base/median.hpp"

namespace glint {
namespace {

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
            fmt::format("a table of {} localizations: at most {} can be clustered at once: use a part of its field",
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

/// The median over points of the distance to the nearest other one, nm; in parallel.
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
    // Of random points the share exp(-pi density r^2) has none within r.
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
