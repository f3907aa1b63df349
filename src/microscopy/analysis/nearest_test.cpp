// Tests the k-d tree against brute force, and with crowds that could make it slow.
// SPDX-License-Identifier: MIT
#include "analysis/points.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace glint;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double by_brute_force(const std::vector<Point>& points, const Point& p, std::size_t except = Nearest::nobody) {
    double best = infinity;
    for (std::size_t k = 0; k < points.size(); ++k)
        if (k != except && is_finite(points[k])) best = std::min(best, squared_distance(p, points[k]));
    return best;
}

/// Half of the points are spread evenly, and half lie in tight crowds. Some occur twice. In the plane or in space.
std::vector<Point> some_points(std::mt19937& random, std::size_t n, double depth_nm) {
    std::uniform_real_distribution<double> at(0, 1);
    std::vector<Point> points(n);
    for (std::size_t k = 0; k < n; ++k) {
        const Point centre = k % 2 && k > 20 ? points[k % 20] : Point{};
        const double edge_nm = k % 2 ? 1 : 5000;
        points[k] = {centre.x_nm + edge_nm * at(random), centre.y_nm + edge_nm * at(random), depth_nm * at(random)};
        if (k > 20 && k % 7 == 0) points[k] = points[k - 3];
    }
    return points;
}

}  // namespace

TEST(Nearest, agrees_with_brute_force) {
    std::mt19937 random(5);
    for (const double depth_nm : {0.0, 800.0})
        for (const std::size_t n : {1, 2, 8, 9, 17, 100, 1500}) {
            std::vector<Point> points = some_points(random, n, depth_nm);
            if (n > 2) points[1].y_nm = NAN;
            const Nearest tree(points);
            for (const Point& p : some_points(random, 300, depth_nm))
                EXPECT_EQ(tree.squared(p), by_brute_force(points, p)) << n;
            for (std::size_t k = 0; k < n; ++k) {
                const double others = is_finite(points[k]) ? by_brute_force(points, points[k], k) : infinity;
                EXPECT_EQ(tree.squared(points[k], k), others) << n;
            }
        }
}

TEST(Nearest, without_points_the_distance_is_infinite) {
    const std::vector<Point> none, one{{1, 2, 3}}, nowhere{{NAN, 0, 0}, {0, infinity, 0}};
    EXPECT_EQ(Nearest(none).squared({}), infinity);
    EXPECT_EQ(Nearest(nowhere).squared({}), infinity);
    EXPECT_EQ(Nearest(one).squared(one[0], 0), infinity);
    EXPECT_EQ(Nearest(one).squared({NAN, 0, 0}), infinity);
    EXPECT_EQ(Nearest(one).squared({1, 2, 5}), 4);
}

// All of a hundred thousand points are equally near. A tree without boxes would visit every point in each search.
TEST(Nearest, a_crowd_at_one_place_is_passed_over_as_a_whole) {
    std::vector<Point> points(100000, Point{500, 500, 0});
    const Nearest tree(points);
    for (std::size_t k = 0; k < points.size(); ++k)
        ASSERT_EQ(tree.squared({double(k), 500, 0}), std::pow(double(k) - 500, 2));
}

TEST(Nearest, distinct_points_are_sorted_and_finite) {
    const std::vector<Point> points{{2, 0, 0}, {1, 5, 0}, {NAN, 0, 0}, {2, 0, 0}, {1, 5, -1}, {1, infinity, 0}};
    EXPECT_EQ(distinct(points), (std::vector<Point>{{1, 5, -1}, {1, 5, 0}, {2, 0, 0}}));
}
