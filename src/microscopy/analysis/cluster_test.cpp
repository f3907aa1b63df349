// Tests of DBSCAN: small scenes with known results, and larger scenes against a reference implementation.
// SPDX-License-Identifier: MIT
#include "glint/cluster.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "glint/error.hpp"

using namespace glint;

namespace {

constexpr double pixel_nm = 100;

/// Rows of x, y and (if used) z in nm.
Localizations scene(const std::vector<std::array<double, 3>>& rows, bool with_z = false) {
    Localizations out;
    for (const auto& [x, y, z] : rows) {
        out.frame.push_back(std::uint32_t(out.frame.size()));
        out.x_px.push_back(float(x / pixel_nm)), out.y_px.push_back(float(y / pixel_nm));
        if (with_z) out.z_nm.push_back(float(z));
    }
    out.pixel_size_nm = pixel_nm;
    return out;
}

ClusterOptions with(double radius_nm, int min_neighbors, double axial_radius_nm = 0, const StopFlag* stop = nullptr) {
    return {.radius_nm = radius_nm, .axial_radius_nm = axial_radius_nm, .min_neighbors = min_neighbors, .stop = stop};
}

/// Reference implementation of DBSCAN, with all distances.
std::vector<std::int32_t> by_definition(const Localizations& t, double radius, double axial_radius, int least) {
    const std::size_t n = t.size();
    const auto near = [&](std::size_t a, std::size_t b) {
        const double per_px = pixel_nm / radius, x = t.x_px[a] * per_px - t.x_px[b] * per_px,
                     y = t.y_px[a] * per_px - t.y_px[b] * per_px;
        const double z = axial_radius > 0 ? t.z_nm[a] / axial_radius - t.z_nm[b] / axial_radius : 0;
        return x * x + y * y + z * z <= 1;
    };
    std::vector<char> core(n);
    for (std::size_t a = 0; a < n; ++a) {
        int count = 0;
        for (std::size_t b = 0; b < n; ++b) count += near(a, b);
        core[a] = count >= least;
    }
    std::vector<std::int32_t> labels(n, -1);
    std::int32_t next = 0;
    for (std::size_t seed = 0; seed < n; ++seed) {
        if (!core[seed] || labels[seed] >= 0) continue;
        std::vector<std::size_t> open{seed};
        labels[seed] = next;
        while (!open.empty()) {
            const std::size_t a = open.back();
            open.pop_back();
            if (!core[a]) continue;
            for (std::size_t b = 0; b < n; ++b)
                if (labels[b] < 0 && near(a, b)) labels[b] = next, open.push_back(b);
        }
        ++next;
    }
    return labels;
}

Localizations blobs(std::size_t n, std::uint64_t seed, bool with_z) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(-300, 1700);  // positions below 0 too
    std::normal_distribution<double> normal(0, 25);
    std::vector<std::array<double, 3>> rows;
    std::array<double, 3> centre{};
    for (std::size_t k = 0; k < n; ++k) {
        if (k % 20 == 0) centre = {uniform(random), uniform(random), uniform(random) / 5};
        if (k % 3 == 0)
            rows.push_back({uniform(random), uniform(random), uniform(random) / 5});
        else
            rows.push_back({centre[0] + normal(random), centre[1] + normal(random), centre[2] + 2 * normal(random)});
    }
    return scene(rows, with_z);
}

TEST(Cluster, agrees_with_the_reference_implementation) {
    for (int least : {1, 2, 5, 12})
        for (std::uint64_t seed : {1, 2, 3}) {
            const Localizations flat = blobs(1200, seed, false), deep = blobs(1200, seed, true);
            EXPECT_EQ(cluster(flat, with(30, least)).label, by_definition(flat, 30, 0, least)) << least << " " << seed;
            EXPECT_EQ(cluster(deep, with(40, least, 90)).label, by_definition(deep, 40, 90, least))
                << least << " " << seed;
        }
}

TEST(Cluster, a_neighbour_at_exactly_the_radius_counts) {
    const Localizations table = scene({{0, 0, 0}, {25, 0, 0}, {50, 0, 0}, {100, 0, 0}});
    EXPECT_EQ(cluster(table, with(25, 2)).label, (std::vector<std::int32_t>{0, 0, 0, -1}));
    EXPECT_EQ(cluster(table, with(24.9, 2)).label, (std::vector<std::int32_t>{-1, -1, -1, -1}));
    EXPECT_EQ(cluster(table, with(25, 1)).label, (std::vector<std::int32_t>{0, 0, 0, 1}));
}

TEST(Cluster, many_rows_at_few_places) {
    // Two crowds in neighbouring cells, farther apart than the radius. There are 10^10 pairs.
    std::vector<std::array<double, 3>> rows;
    for (int k = 0; k < 200000; ++k) rows.push_back({k % 2 ? 5.0 : 26.0, 1, 0});
    const Clusters found = cluster(scene(rows), with(20, 5));
    ASSERT_EQ(found.size.size(), 2u);
    EXPECT_EQ(found.size[0], 100000u);
    EXPECT_NEAR(found.x_nm[0], 26 + pixel_nm / 2, 1e-3);
    EXPECT_NEAR(found.rms_radius_nm[0], 0, 1e-3);
    EXPECT_EQ(found.nearest_nm, 0);
    EXPECT_NEAR(found.nearest_center_nm, 21, 1e-3);
}

TEST(Cluster, describes_clusters_and_leaves_out_rows_without_a_position) {
    Localizations table = scene({{0, 0, 0}, {10, 0, 30}, {0, 10, 60}, {10, 10, 30}, {900, 900, 0}, {0, 0, 0}}, true);
    table.x_px[5] = std::numeric_limits<float>::quiet_NaN();
    const Clusters found = cluster(table, with(20, 3));
    EXPECT_EQ(found.label, (std::vector<std::int32_t>{0, 0, 0, 0, -1, -1}));
    ASSERT_EQ(found.size.size(), 1u);
    EXPECT_NEAR(found.x_nm[0], 55, 1e-3);
    EXPECT_NEAR(found.y_nm[0], 55, 1e-3);
    EXPECT_NEAR(found.z_nm[0], 30, 1e-3);
    EXPECT_NEAR(found.rms_radius_nm[0], std::sqrt(50.0), 1e-3);
    EXPECT_NEAR(found.mean_frame[0], 1.5, 1e-9);
    EXPECT_NEAR(found.std_frame[0], std::sqrt(1.25), 1e-9);
    EXPECT_TRUE(std::isnan(found.nearest_center_nm));
}

TEST(Cluster, distances_of_random_points_agree_with_theory) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> uniform(0, 20000);
    std::vector<std::array<double, 3>> rows;
    for (int k = 0; k < 20000; ++k) rows.push_back({uniform(random) - 50, uniform(random) - 50, 0});
    Localizations table = scene(rows);
    table.width = table.height = 200;
    const Clusters found = cluster(table, with(0.001, 1));
    ASSERT_EQ(found.size.size(), rows.size());
    // The standard error of a median of n values is 1 / (2 f sqrt(n)), with f = 2 pi density m / 2 at the median m.
    // Mutual nearest neighbours (62 %) at most double the variance. At the edges of the field, which cover 4 edges m /
    // 20 um, neighbours are a little farther away.
    const double m = found.nearest_random_nm, density = 20000 / 4e8, f = std::numbers::pi * density * m;
    EXPECT_NEAR(m, std::sqrt(std::numbers::ln2 / (std::numbers::pi * density)), 1e-6);
    EXPECT_NEAR(found.nearest_center_nm, m, 4 * std::sqrt(2.0) / (2 * f * std::sqrt(20000.0)) + m * 4 * m / 20000);
}

TEST(Cluster, refuses_invalid_input) {
    Localizations table = scene({{0, 0, 0}});
    EXPECT_THROW(cluster(table, with(0, 5)), OptionError);
    EXPECT_THROW(cluster(table, with(20, 0)), OptionError);
    EXPECT_THROW(cluster(table, with(20, 5, 50)), OptionError);
    EXPECT_TRUE(cluster(select(table, {}), {}).label.empty());
    StopFlag stop = true;
    EXPECT_TRUE(cluster(table, with(20, 5, 0, &stop)).label.empty());
    table.x_px[0] = 1e20f;
    EXPECT_THROW(cluster(table, {}), OptionError);
    table.pixel_size_nm = 0;
    EXPECT_THROW(cluster(table, {}), OptionError);
}

}  // namespace
