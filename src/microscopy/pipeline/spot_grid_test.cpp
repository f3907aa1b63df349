// Finds the points in a box by cells.
// SPDX-License-Identifier: MIT
#include "pipeline/spot_grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace glint;

namespace {

std::vector<std::size_t> visited(const SpotGrid& grid, GridPoint low, GridPoint high) {
    std::vector<std::size_t> all;
    grid.visit(low, high, [&](std::size_t k) { all.push_back(k); });
    std::sort(all.begin(), all.end());
    return all;
}

/// Creates random points in a field and a box around each. Checks that all points of a box are visited; returns the
/// number of visits.
std::size_t check(double width, double height, std::size_t count, double box) {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> x(-width / 2, width / 2), y(5, 5 + height);
    std::vector<GridPoint> points;
    for (std::size_t k = 0; k < count; ++k) points.push_back({x(random), y(random)});
    const SpotGrid grid(points, 2 * box);
    std::size_t visits = 0;
    for (const GridPoint& p : points) {
        const auto seen = visited(grid, {p.x - box, p.y - box}, {p.x + box, p.y + box});
        EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end()) << "twice";
        visits += seen.size();
        for (std::size_t q = 0; q < count; ++q) {
            const bool inside = std::abs(points[q].x - p.x) <= box && std::abs(points[q].y - p.y) <= box;
            EXPECT_TRUE(!inside || std::binary_search(seen.begin(), seen.end(), q));
        }
    }
    return visits;
}

}  // namespace

// With cells of the box's size, a box touches 2 x 2 cells on average, whatever the field's shape. A cell that was
// enlarged because there are few points contains about one.
TEST(SpotGrid, visits_all_points_of_a_box_and_few_others) {
    for (const auto& [width, height] :
         {std::pair{500.0, 500.0}, {4.0, 60'000.0}, {60'000.0, 4.0}, {0.0, 1000.0}, {0.0, 0.5}}) {
        constexpr std::size_t count = 1500;
        constexpr double box = 2;
        const double cell = std::max({2 * box, std::sqrt(width * height / count), width / count, height / count});
        const double per_cell =
            count * std::min(1.0, cell / std::max(width, cell)) * std::min(1.0, cell / std::max(height, cell));
        EXPECT_LT(double(check(width, height, count, box)), count * (9 * per_cell + 9)) << width << "x" << height;
    }
}

TEST(SpotGrid, takes_any_numbers) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
    const SpotGrid none({}, 1), odd({{nan, 1}, {infinite, nan}, {-infinite, 0}, {1e300, -1e300}}, 1),
        zero({{1, 1}, {1, 1}}, 0);
    EXPECT_TRUE(visited(none, {-1, -1}, {1, 1}).empty());
    EXPECT_EQ(visited(odd, {-infinite, -infinite}, {infinite, infinite}).size(), 4u);
    EXPECT_EQ(visited(zero, {1, 1}, {1, 1}).size(), 2u);
    visited(odd, {nan, nan}, {nan, nan});
}
