// Crowded frames and heaps give a warning; separable molecules, and bright lone spots, do not.
// SPDX-License-Identifier: MIT
#include "run/row_checks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "glint/localize.hpp"
#include "pipeline/p_single.hpp"

using namespace glint;

namespace {

struct Rows {
    Localizations rows;
    std::mt19937 random{7};

    /// Photons of blinking molecules: exponentially distributed with mean 1000.
    void add(int count, float emitters, float photons = 0, FitStatus status = FitStatus::converged,
             double p_single = 1) {
        std::exponential_distribution<float> blink(1e-3f);
        for (int k = 0; k < count; ++k) {
            rows.frame.push_back(std::uint32_t(rows.frame.size()));
            rows.x_px.push_back(12.25f), rows.y_px.push_back(3.5f);
            rows.photons.push_back(photons > 0 ? photons : blink(random));
            rows.emitters.push_back(emitters), rows.status.push_back(std::uint8_t(status));
            rows.lpx_px.push_back(0.1f), rows.lpy_px.push_back(0.1f), rows.sx_px.push_back(1), rows.sy_px.push_back(1);
            rows.extra[p_single_column].values.push_back(p_single);
        }
    }
    std::string warning(double noise = 1) const {
        Crowding crowding;
        crowding.add(rows);
        return crowding.warning(noise);
    }
};

}  // namespace

TEST(Crowding, molecules_that_can_be_told_apart_give_no_warning) {
    Rows rows;
    // The limit is at least 3 times 4.6 means, which a hundredth of an exponential distribution exceeds. In 20,000
    // rows, 0.02 are expected beyond the limit.
    rows.add(1000, 0), rows.add(20000, 12), rows.add(1000, max_emitters + 1, 0, FitStatus::converged, 0.5);
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

TEST(Crowding, a_heap_is_reported_with_its_place) {
    Rows rows;
    rows.add(1000, 0), rows.add(2, 3, 50000), rows.add(1, 3, 60000);
    const std::string text = rows.warning();
    EXPECT_TRUE(text.starts_with("3 localizations")) << text;
    EXPECT_NE(text.find("of 60000 photons, is in frame 1002 at x 12.2 px, y 3.5 px"), std::string::npos) << text;
    Rows few;
    few.add(50, 0), few.add(3, 3, 50000);
    EXPECT_EQ(few.warning(), "") << "too few lone ones to tell what one molecule is";
}

TEST(Crowding, rows_that_stand_for_several_molecules_are_reported) {
    Rows rows;
    rows.add(500, 12, 0, FitStatus::converged, 1), rows.add(500, 2, 0, FitStatus::converged, 0.6);
    const std::string text = rows.warning();
    // A fifth of the rows represents several molecules: -ln(0.8) = 0.22 more molecules per row, which is 18 % of 1.22.
    // Half of the rows have 1.2 * 0.4 * 0.1 px^2 in addition to 0.01 px^2, 5.8 times as much.
    EXPECT_NE(text.find("about 20 % of the 1000 localizations"), std::string::npos) << text;
    EXPECT_NE(text.find("about 18 % of the molecules are missed"), std::string::npos) << text;
    EXPECT_NE(text.find("errors are about 1.8 times"), std::string::npos) << text;
    Rows bad;
    bad.add(60, 1, 0, FitStatus::converged, 0.99), bad.add(10000, 1, 0, FitStatus::iteration_limit, 0);
    EXPECT_EQ(bad.warning(), "") << "kept, but no fit";
    Rows few;
    few.add(10, 1, 0, FitStatus::converged, 0.5);
    EXPECT_EQ(few.warning(), "") << "too few";
}

TEST(Crowding, a_small_share_counts_where_it_makes_errors_far_greater_than_stated) {
    Rows rows;
    rows.add(1000, 1, 0, FitStatus::converged, 0.95);
    for (float& error : rows.rows.lpx_px) error = 0.01f;
    rows.rows.lpy_px = rows.rows.lpx_px;
    EXPECT_NE(rows.warning().find("errors are about 2.6 times"), std::string::npos) << rows.warning();
}

TEST(Crowding, what_noise_explains_that_the_camera_lacks_is_no_crowding) {
    Rows rows;  // 10 % represent several molecules, errors are 1.5 times the stated errors
    rows.add(800, 12, 0, FitStatus::converged, 1), rows.add(200, 2, 0, FitStatus::converged, 0.5);
    EXPECT_NE(rows.warning(), "");
    EXPECT_NE(rows.warning(1.2), "") << "more than 9.6 %";
    EXPECT_EQ(rows.warning(1.4), "");
    Rows dense;
    dense.add(600, 2, 0, FitStatus::converged, 0.6);
    EXPECT_NE(dense.warning(4), "") << "40 % at a noise of 4 times what the camera says";
}
