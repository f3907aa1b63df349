// Frames where spots overlap all over, and heaps, are told; crowds that are told apart, and bright lone spots, are not.
// SPDX-License-Identifier: MIT
#include "run/crowding.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "glint/localize.hpp"

using namespace glint;

namespace {

struct Rows {
    Localizations rows;
    std::mt19937 random{7};

    /// Photons as of molecules that blink: exponential, mean 1000.
    void add(int count, float emitters, float photons = 0, FitStatus status = FitStatus::converged) {
        std::exponential_distribution<float> blink(1e-3f);
        for (int k = 0; k < count; ++k) {
            rows.frame.push_back(std::uint32_t(rows.frame.size()));
            rows.x_px.push_back(12.25f), rows.y_px.push_back(3.5f);
            rows.photons.push_back(photons > 0 ? photons : blink(random));
            rows.emitters.push_back(emitters), rows.status.push_back(std::uint8_t(status));
        }
    }
    std::string warning() const {
        Crowding crowding;
        crowding.add(rows);
        return crowding.warning();
    }
};

}  // namespace

TEST(Crowding, molecules_that_can_be_told_apart_give_no_warning) {
    Rows rows;
    // The limit is at least 3 times 4.6 means (the hundredth part of an exponential distribution): of 20,000 rows beyond it 0.02 are expected.
    rows.add(1000, 0), rows.add(20000, 12), rows.add(1000, most_emitters + 1);
    EXPECT_EQ(rows.warning(), "");
    rows.add(3, 1, 1e6f);
    EXPECT_EQ(rows.warning(), "") << "lone and bright: a bead";
    rows.add(3, 12, 1e6f, FitStatus::iteration_limit);
    EXPECT_EQ(rows.warning(), "") << "kept, but no fit";
    Localizations alone = rows.rows;
    alone.emitters.clear();
    Crowding crowding;
    crowding.add(alone);
    EXPECT_EQ(crowding.warning(), "");
}

TEST(Crowding, a_heap_is_told_with_its_place) {
    Rows rows;
    rows.add(1000, 0), rows.add(2, 3, 50000), rows.add(1, 3, 60000);
    const std::string text = rows.warning();
    EXPECT_TRUE(text.starts_with("3 localizations")) << text;
    EXPECT_NE(text.find("of 60000 photons, is in frame 1002 at x 12.2 px, y 3.5 px"), std::string::npos) << text;
    Rows few;
    few.add(50, 0), few.add(3, 3, 50000);
    EXPECT_EQ(few.warning(), "") << "too few lone ones to tell what one molecule is";
}

TEST(Crowding, frames_where_all_spots_overlap_are_told) {
    Rows rows;
    rows.add(900, 12), rows.add(99, most_emitters + 1), rows.add(1, 900);
    const std::string text = rows.warning();
    EXPECT_TRUE(text.starts_with("100 of 1000 localizations are in groups of more than 64")) << text;
    EXPECT_NE(text.find("the largest of 900 in frame 999"), std::string::npos) << text;
}
