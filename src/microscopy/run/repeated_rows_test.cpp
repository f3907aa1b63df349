// Dim rows in one place in much of a movie are reported; molecules that blink at random, and bright beads, are not.
// SPDX-License-Identifier: MIT
#include "run/row_checks.hpp"

#include <gtest/gtest.h>

#include <random>

using namespace glint;

namespace {

constexpr int edge = 64, frames = 100;

void add_row(Localizations& rows, double x, double y, double photons) {
    rows.frame.push_back(0);
    rows.x_px.push_back(float(x)), rows.y_px.push_back(float(y)), rows.photons.push_back(float(photons));
}

/// Returns 0.005 molecules per pixel, with exponentially distributed photons.
Localizations molecules() {
    Localizations rows;
    std::mt19937 random(5);
    std::uniform_real_distribution<double> place(-0.5, edge - 0.5);
    std::exponential_distribution<double> photons(1 / 2000.0);
    for (int k = 0; k < 20 * frames; ++k) add_row(rows, place(random), place(random), 100 + photons(random));
    return rows;
}

std::string warning_of(const Localizations& rows, std::int64_t of_frames = frames) {
    RepeatedRows repeated(edge, edge);
    repeated.add(rows);
    return repeated.warning(of_frames);
}

}  // namespace

TEST(RepeatedRows, of_molecules_that_blink_are_no_warning) {
    EXPECT_EQ(warning_of(molecules()), "");
    EXPECT_EQ(warning_of({}), "");
    RepeatedRows nothing(edge, edge);
    EXPECT_EQ(nothing.warning(frames), "");
}

TEST(RepeatedRows, of_a_cluster_are_no_warning) {
    Localizations rows = molecules();
    std::mt19937 random(9);
    std::exponential_distribution<double> photons(1 / 2000.0);
    for (int k = 0; k < 4 * frames; ++k) add_row(rows, 30, 30, 100 + photons(random));
    EXPECT_EQ(warning_of(rows), "") << "four molecules a frame, of which about one is dim";
}

TEST(RepeatedRows, of_bright_beads_are_no_warning) {
    Localizations rows = molecules();
    for (int k = 0; k < frames; ++k) add_row(rows, 20, 20, 20'000);
    EXPECT_EQ(warning_of(rows), "");
}

TEST(RepeatedRows, that_are_dim_are_reported_with_their_number_and_a_filter) {
    Localizations rows = molecules();
    std::mt19937 random(7);
    std::normal_distribution<double> around(0, 0.3);
    for (int k = 0; k < 60; ++k) add_row(rows, 30 + around(random), 30 + around(random), 200);  // in 60 of 100 frames
    const std::string text = warning_of(rows);
    // 60 of 2,060 rows, plus the few molecules at that position: 20 frames with 0.005 per pixel in 16 pixels, a sixth
    // of them dim.
    EXPECT_NE(text.find("photons"), std::string::npos) << text;
    EXPECT_NEAR(std::stod(text), 61, 5) << text;
    EXPECT_NE(text.find("in 1 places of 4 x 4 px"), std::string::npos) << text;
    EXPECT_EQ(warning_of(rows, 19), "") << "too few frames to tell";
    EXPECT_EQ(warning_of(rows, 1000), "") << "6 % of the frames, as a molecule that blinks often";
    Localizations without = rows;
    without.photons.clear();
    EXPECT_EQ(warning_of(without), "");
}
