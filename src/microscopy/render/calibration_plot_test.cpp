// Tests of the calibration plot: points and curve at the right pixels; an empty calibration.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>

#include "glint/render.hpp"

using namespace glint;

namespace {

bool is_red(const std::uint8_t* p) { return p[0] > 150 && p[1] < 100 && p[2] < 100; }
bool is_blue(const std::uint8_t* p) { return p[2] > 150 && p[0] < 100; }

template <class Test>
std::pair<int, int> lowest(RgbPicture& picture, Test test) {
    std::pair<int, int> found{-1, -1};
    for (int y = 60; y < picture.height - 85; ++y)
        for (int x = 110; x < 760; ++x)
            if (test(picture.at(x, y))) found = {x, y};
    return found;
}

}  // namespace

TEST(CalibrationPlot, shows_x_in_focus_right_and_y_in_focus_left_for_a_positive_gamma) {
    Calibration calibration;
    calibration.curve = {.sx0_nm = 130, .sy0_nm = 130, .gamma_nm = 200, .d_nm = 300, .z_min_nm = -500, .z_max_nm = 500};
    RgbPicture picture = plot(calibration);
    const auto [red_x, red_y] = lowest(picture, is_red);
    const auto [blue_x, blue_y] = lowest(picture, is_blue);
    EXPECT_EQ(red_y, blue_y);  // equal widths in focus
    EXPECT_GT(red_x, blue_x);
    // 0.4 um apart on an axis of 1.08 um over 670 px. At its minimum, a curve is flat for some pixels.
    EXPECT_NEAR(red_x - blue_x, 670 * 0.4 / 1.08, 30);
}

TEST(CalibrationPlot, draws_axes_for_an_empty_calibration) {
    const RgbPicture picture = plot(Calibration{});
    EXPECT_EQ(picture.rgb.size(), std::size_t(picture.width) * picture.height * 3);
    EXPECT_LT(*std::min_element(picture.rgb.begin(), picture.rgb.end()), 50);
}
