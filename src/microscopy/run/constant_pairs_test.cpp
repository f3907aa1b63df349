// Molecules with two lobes are reported with the distance of the lobes. Molecules at random, sparse or crowded, are
// not.
// SPDX-License-Identifier: MIT
#include "run/row_checks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace glint;

namespace {

constexpr double edge_px = 64;
constexpr int frames = 160;

/// Random molecules, each with a second row `lobes_px` away. Rows closer than 1.5 px are merged.
std::string warning_of(double density_per_px, double lobes_px) {
    std::mt19937 random(4);
    std::uniform_real_distribution<double> place(0, edge_px), turn(0, 6.2832);
    std::normal_distribution<double> error(0, 0.08);
    Localizations rows;
    for (int frame = 0; frame < frames; ++frame) {
        const std::size_t begin = rows.size();
        const auto add = [&](double x, double y) {
            for (std::size_t k = begin; k < rows.size(); ++k)
                if (std::hypot(double(rows.x_px[k]) - x, double(rows.y_px[k]) - y) < 1.5) return;
            rows.frame.push_back(std::uint32_t(frame));
            rows.x_px.push_back(float(x)), rows.y_px.push_back(float(y));
        };
        const int molecules = std::poisson_distribution<int>(density_per_px * edge_px * edge_px)(random);
        for (int k = 0; k < molecules; ++k) {
            const double x = place(random), y = place(random), angle = turn(random);
            add(x + error(random), y + error(random));
            if (lobes_px > 0)
                add(x + lobes_px * std::cos(angle) + error(random), y + lobes_px * std::sin(angle) + error(random));
        }
    }
    ConstantPairs pairs;
    pairs.add(rows);
    return pairs.warning();
}

}  // namespace

TEST(ConstantPairs, of_molecules_at_random_are_none) {
    for (const double density : {0.0005, 0.005, 0.02, 0.05, 0.1}) EXPECT_EQ(warning_of(density, 0), "") << density;
    EXPECT_EQ(ConstantPairs().warning(), "");
}

TEST(ConstantPairs, of_two_lobes_are_reported_with_their_distance) {
    for (const double density : {0.001, 0.005}) {
        const std::string text = warning_of(density, 4);
        const std::string before = "nearest neighbour in the same frame ";
        ASSERT_NE(text.find(before), std::string::npos) << density << text;
        // The result is the middle of a window of 0.75 px that contains the distances.
        EXPECT_NEAR(std::stod(text.substr(text.find(before) + before.size())), 4, 0.375) << density;
    }
}
