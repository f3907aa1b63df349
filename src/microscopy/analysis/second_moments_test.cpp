// Tests of second moments: exact for a Gaussian at any angle, insensitive to a halo.
// SPDX-License-Identifier: MIT
#include "analysis/beads.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

using namespace glint;

namespace {

std::vector<float> tilted_spot(int size, double x, double y, double along, double across, double angle, double bg) {
    std::vector<float> pixels;
    for (int j = 0; j < size; ++j)
        for (int i = 0; i < size; ++i) {
            const double u = (i - x) * std::cos(angle) + (j - y) * std::sin(angle);
            const double v = -(i - x) * std::sin(angle) + (j - y) * std::cos(angle);
            pixels.push_back(float(bg + 1000 * std::exp(-0.5 * (u * u / along / along + v * v / across / across))));
        }
    return pixels;
}

}  // namespace

TEST(SecondMoments, recover_a_tilted_gaussian) {
    for (double angle : {0.0, 0.3, 0.8, -1.2}) {
        const auto pixels = tilted_spot(21, 10.3, 9.6, 2.4, 1.3, angle, 50);
        const auto m = gaussian_moments(pixels, 21, 50, {10, 10, 2, 2, 0});
        ASSERT_TRUE(m);
        const double a = 2.4 * 2.4, b = 1.3 * 1.3, c = std::cos(angle), s = std::sin(angle);
        EXPECT_NEAR(m->x, 10.3, 0.02);
        EXPECT_NEAR(m->y, 9.6, 0.02);
        EXPECT_NEAR(m->xx, a * c * c + b * s * s, 0.05);
        EXPECT_NEAR(m->yy, a * s * s + b * c * c, 0.05);
        EXPECT_NEAR(m->xy, (a - b) * c * s, 0.05);
    }
}

TEST(SecondMoments, are_missing_without_signal) {
    const std::vector<float> flat(81, 5.0f);
    EXPECT_FALSE(gaussian_moments(flat, 9, 5, {4, 4, 2, 2, 0}));
    EXPECT_FALSE(gaussian_moments(flat, 9, 9, {4, 4, 2, 2, 0})) << "less than the background";
    EXPECT_FALSE(gaussian_moments(flat, 9, 0, {4, 4, 200, 200, 0})) << "a start that is wider than the ROI";
}
