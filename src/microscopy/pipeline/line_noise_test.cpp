// Noise shared by columns or rows is measured correctly beside spots, gradients and missing pixels.
// SPDX-License-Identifier: MIT
#include "pipeline/line_noise.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace glint {
namespace {

constexpr int width = 96, height = 80;

LineNoise measure(double columns, double rows, bool has_spots) {
    std::mt19937 random(9);
    std::normal_distribution<double> normal;
    LineNoiseSum sum(width, height);
    for (int frame = 0; frame < 8; ++frame) {
        std::vector<double> by_column(width), by_row(height);
        for (double& one : by_column) one = columns * normal(random);
        for (double& one : by_row) one = rows * normal(random);
        std::vector<float> light(std::size_t(width) * height);
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x) {
                double mu = 10;
                if (has_spots) {
                    mu += 0.1 * x + 0.05 * y;
                    for (int k = 0; k < 30; ++k) {
                        const double dx = x - (k * 37 + frame * 11) % width, dy = y - (k * 53 + frame * 29) % height;
                        mu += 90 * std::exp(-(dx * dx + dy * dy) / 3.4);
                    }
                }
                light[std::size_t(y) * width + std::size_t(x)] = float(
                    std::poisson_distribution<int>(mu)(random) + by_column[std::size_t(x)] + by_row[std::size_t(y)]);
            }
        for (int x = 0; x < width; ++x) light[std::size_t(x)] = std::numeric_limits<float>::quiet_NaN();
        sum.add(light);
    }
    return sum.result();
}

}  // namespace

TEST(LineNoise, is_none_in_independent_pixels) {
    for (const bool has_spots : {false, true}) {
        const LineNoise noise = measure(0, 0, has_spots);
        EXPECT_NEAR(noise.columns, 0, 4 * noise.columns_error);
        EXPECT_NEAR(noise.rows, 0, 4 * noise.rows_error);
        EXPECT_LT(noise.columns_error, 0.1);
        if (!has_spots) {
            EXPECT_NEAR(noise.pixels, 10, 1);
        }
        EXPECT_EQ(line_noise_warning(noise, 1.3), "");
    }
}

TEST(LineNoise, of_columns_and_of_rows_is_distinguished) {
    for (const bool has_spots : {false, true}) {
        // The variance of 94 columns in 8 frames is known to sqrt(2 / 752) = 5 %, and half of the differences are
        // independent.
        const LineNoise columns = measure(1.5, 0, has_spots), rows = measure(0, 1, has_spots);
        EXPECT_NEAR(columns.columns, 2.25, 2.25 * 4 * 0.075) << has_spots;
        EXPECT_NEAR(columns.rows, 0, 4 * columns.rows_error) << has_spots;
        EXPECT_NEAR(rows.rows, 1, 4 * 0.08) << has_spots;
        EXPECT_NEAR(rows.columns, 0, 4 * rows.columns_error) << has_spots;
        EXPECT_NE(line_noise_warning(columns, 1.3).find("the pixels of a column share noise"), std::string::npos);
        EXPECT_NE(line_noise_warning(columns, 1.3).find("errors along x"), std::string::npos);
        EXPECT_NE(line_noise_warning(rows, 1.3).find("errors along y"), std::string::npos);
    }
    // sqrt(1 + 4.61 * 2.25 / 10)
    EXPECT_NE(line_noise_warning({.columns = 2.25, .columns_error = 0.1, .pixels = 10}, 1.3).find("up to 1.4 times"),
              std::string::npos);
    EXPECT_EQ(line_noise_warning({.columns = 0.1, .columns_error = 0.01, .pixels = 10}, 1.3), "");
}

TEST(LineNoise, of_small_frames_is_not_measured) {
    LineNoiseSum sum(31, 200);
    sum.add(std::vector<float>(31 * 200, 5.0F));
    EXPECT_EQ(sum.result().columns, 0);
    EXPECT_EQ(line_noise_warning(sum.result(), 1.3), "");
}

}  // namespace glint
