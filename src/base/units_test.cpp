// Lengths: every unit, every refusal.
// SPDX-License-Identifier: MIT
#include "glint/units.hpp"

#include <gtest/gtest.h>

#include "glint/error.hpp"

using namespace glint;

TEST(Units, parses_each_unit) {
    EXPECT_DOUBLE_EQ(to_nm(parse_length("130nm", "sigma"), 0), 130);
    EXPECT_DOUBLE_EQ(to_nm(parse_length("0.13um", "sigma"), 0), 130);
    EXPECT_DOUBLE_EQ(to_nm(parse_length("0.13µm", "sigma"), 0), 130);
    EXPECT_DOUBLE_EQ(to_px(parse_length("1.3px", "sigma"), 0), 1.3);
    EXPECT_DOUBLE_EQ(to_px(parse_length("130nm", "sigma"), 100), 1.3);
    EXPECT_DOUBLE_EQ(to_nm(parse_length("65 nm", "sigma"), 0), 65);
}

TEST(Units, refuses_what_is_no_length) {
    for (const char* text :
         {"", "130", "nm", "-1nm", "0px", "nan px", "nannm", "infnm", "1.3 mm", "1.3mm", "1.3 p x", "1e400nm"})
        EXPECT_THROW(parse_length(text, "sigma"), OptionError) << text;
}

TEST(Units, conversion_without_a_pixel_size_says_what_to_give) {
    try {
        to_px(parse_length("130nm", "sigma"), 0);
        FAIL();
    } catch (const OptionError& error) {
        EXPECT_NE(std::string(error.what()).find("`pixel_size=100nm`"), std::string::npos);
    }
}

TEST(Units, times) {
    EXPECT_DOUBLE_EQ(parse_seconds("30s", "timeout"), 30);
    EXPECT_DOUBLE_EQ(parse_seconds("0.5min", "timeout"), 30);
    EXPECT_DOUBLE_EQ(parse_seconds("2h", "timeout"), 7200);
    EXPECT_DOUBLE_EQ(parse_seconds("0", "timeout"), 0);
    EXPECT_GT(parse_seconds("inf", "timeout"), 1e300);
    for (const char* text : {"", "s", "-1s", "nan", "nans", "3 s", "3ms", "3d", "infs", "1e400s"})
        EXPECT_THROW(parse_seconds(text, "timeout"), OptionError) << text;
}

TEST(Units, numbers_have_commas) {
    EXPECT_EQ(with_commas(0), "0");
    EXPECT_EQ(with_commas(999), "999");
    EXPECT_EQ(with_commas(1000), "1,000");
    EXPECT_EQ(with_commas(-123), "-123");
    EXPECT_EQ(with_commas(-1234567), "-1,234,567");
}
