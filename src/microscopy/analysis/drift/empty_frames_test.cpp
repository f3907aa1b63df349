// Tests of the drift of movies with many empty frames.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "glint/drift.hpp"
#include "tests/drifting_blinks.hpp"

namespace glint {
namespace {

using namespace test;

/// Returns the same rows in a movie that begins and ends with empty frames.
Localizations amid_empty_frames(Localizations locs, std::uint32_t before, std::uint32_t after) {
    for (std::uint32_t& frame : locs.frame) frame += before;
    locs.frames += before + after;
    return locs;
}

TEST(DriftOfEmptyFrames, does_not_depend_on_frames_before_the_first_row_and_after_the_last) {
    constexpr std::uint32_t before = 10000, after = 3000;
    const Localizations locs = blinking(2, 10000);
    const auto [first, last] = std::minmax_element(locs.frame.begin(), locs.frame.end());
    const Drift drift = estimate_drift(locs);
    const Drift amid = estimate_drift(amid_empty_frames(locs, before, after));
    ASSERT_FALSE(drift.refused || amid.refused) << drift.why << amid.why;
    EXPECT_EQ(amid.error_100_nm, drift.error_100_nm);
    EXPECT_EQ(amid.halves_differ_nm, drift.halves_differ_nm);
    ASSERT_EQ(amid.jumps.size(), 1u);
    EXPECT_EQ(amid.jumps[0].frame, drift.jumps.at(0).frame + before);
    ASSERT_EQ(amid.frames(), before + movie_frames + after);
    for (std::size_t f = 0; f < std::size_t(amid.frames()); ++f) {
        const std::size_t with_rows = std::clamp<std::size_t>(f, before + *first, before + *last) - before;
        ASSERT_EQ(amid.x.nm[f], drift.x.nm[with_rows]) << f;
        ASSERT_EQ(amid.y.nm[f], drift.y.nm[with_rows]) << f;
        ASSERT_EQ(std::isnan(amid.x.error_nm[f]), with_rows + before != f) << f;
    }
}

TEST(DriftOfEmptyFrames, is_not_moved_by_a_stray_row_behind_empty_frames) {
    Localizations locs = blinking(2, 10000);
    Localizations with_stray = amid_empty_frames(locs, 0, movie_frames);
    with_stray.frame.push_back(2 * movie_frames - 1000);
    for (std::vector<float>* column : {&with_stray.x_px, &with_stray.y_px, &with_stray.lpx_px, &with_stray.lpy_px})
        column->push_back(column->front());
    const Drift stray = estimate_drift(with_stray);
    ASSERT_FALSE(stray.refused) << stray.why;
    // The same error as without the stray row, plus that row's share: one of 40,001 rows, wrong by at most 100 nm.
    const double rows = double(with_stray.size()), known = precision_nm / std::sqrt(rows * 100 / movie_frames);
    for (std::size_t a : {0, 1}) {
        EXPECT_GT(stray.error_100_nm[a], 0.5 * known);
        EXPECT_LT(stray.error_100_nm[a], std::hypot(4 * known, 100 / std::sqrt(rows)));
    }
    apply_drift(with_stray, stray);
    double moved_px = 0;
    for (std::size_t k = 0; k < locs.size(); ++k) moved_px += with_stray.x_px[k] - locs.x_px[k];
    // The mean of the drift over all rows is 0, so that the other rows together move by the drift of the stray row.
    EXPECT_LT(std::abs(moved_px * pixel_nm), 1000);
}

TEST(DriftOfEmptyFrames, of_halves_that_move_apart_is_refused_amid_empty_frames_as_well) {
    Localizations locs = blinking(4, 10000);
    for (std::size_t k = 0; k < locs.size(); ++k)  // alternating squares of 2 um, as the halves of the estimate
        if ((int(locs.x_px[k] / 20) + int(locs.y_px[k] / 20)) % 2)
            locs.x_px[k] += float(0.5 * std::sin(locs.frame[k] / 500.0));
    EXPECT_TRUE(estimate_drift(locs).refused);
    EXPECT_TRUE(estimate_drift(amid_empty_frames(locs, 10000, 0)).refused);
}

}  // namespace
}  // namespace glint
