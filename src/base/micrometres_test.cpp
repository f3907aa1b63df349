// Lengths of files, as short decimals and with all digits.
// SPDX-License-Identifier: MIT
#include "base/micrometres.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace glint;

TEST(Micrometres, short_decimals_stay_short) {
    for (int k = 1; k < 100'000; ++k) {
        const double nm = k / 10.0, um = k / 10'000.0;
        ASSERT_EQ(um_to_nm(um), nm);
        ASSERT_EQ(nm_to_um(nm), um);
    }
    EXPECT_NE(um_of(52.4), 0.0524) << "else the functions of files are superfluous";
}

TEST(Micrometres, long_decimals_return_but_for_the_last_digit) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> exponent(-4, 2);
    for (int k = 0; k < 100'000; ++k) {
        const double um = std::pow(10, exponent(random)) * (k % 2 ? 1 : -1);
        ASSERT_NEAR(nm_to_um(um_to_nm(um)), um, 4e-16 * std::abs(um));
    }
}

TEST(Micrometres, odd_numbers_return) {
    for (const double um : {0.0, -0.0, -1e-300, 3e22, 1.0 / 0.0}) {
        EXPECT_EQ(nm_to_um(um_to_nm(um)), um);
        EXPECT_EQ(std::signbit(nm_to_um(um_to_nm(um))), std::signbit(um));
    }
    EXPECT_TRUE(std::isnan(nm_to_um(um_to_nm(NAN))));
    EXPECT_EQ(um_to_nm(-1e307), -HUGE_VAL);
    EXPECT_EQ(nm_to_um(5e-324), 0);
}
