// Names in the order in which people count.
// SPDX-License-Identifier: MIT
#include "io/movie_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

TEST(NaturalOrder, counts_runs_of_digits_as_numbers) {
    const std::vector<std::string> sorted{"",
                                          "1.tif",
                                          "2.tif",
                                          "10.tif",
                                          "010.tif.bak",
                                          "a",
                                          "img1_9",
                                          "img1_10",
                                          "img2_1",
                                          "img10",
                                          "img99999999999999999999998",
                                          "img99999999999999999999999",
                                          "img_1",
                                          "img_a"};
    std::vector<std::string> names = sorted;
    std::mt19937 random(1);
    for (int round = 0; round < 20; ++round) {
        std::shuffle(names.begin(), names.end(), random);
        std::sort(names.begin(), names.end(), glint::natural_less);
        EXPECT_EQ(names, sorted);
    }
}

TEST(NaturalOrder, names_that_differ_in_zeros_alone_have_an_order) {
    EXPECT_NE(glint::natural_less("a1", "a01"), glint::natural_less("a01", "a1"));
    EXPECT_FALSE(glint::natural_less("a01", "a01"));
}
