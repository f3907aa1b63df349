// Which of two fits of one molecule is kept.
// SPDX-License-Identifier: MIT
#include "pipeline/duplicates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace glint;

namespace {

void add(Localizations& rows, std::uint32_t frame, float x, float y, float score) {
    rows.frame.push_back(frame);
    rows.x_px.push_back(x);
    rows.y_px.push_back(y);
    rows.detection_score.push_back(score);
}

std::vector<std::size_t> all_of(const Localizations& rows) {
    std::vector<std::size_t> keep(rows.size());
    for (std::size_t k = 0; k < keep.size(); ++k) keep[k] = k;
    return keep;
}

}  // namespace

TEST(Duplicates, the_better_of_a_frame_stays) {
    Localizations rows;
    add(rows, 0, 10.0f, 10.0f, 6);
    add(rows, 0, 10.3f, 10.0f, 9);
    add(rows, 0, 12.0f, 10.0f, 5);
    add(rows, 1, 10.3f, 10.0f, 5);  // another frame: another molecule
    auto keep = all_of(rows);
    EXPECT_EQ(drop_duplicates(rows, 0.5, keep), 1u);
    EXPECT_EQ(keep, (std::vector<std::size_t>{1, 2, 3}));
}

TEST(Duplicates, a_dropped_row_drops_nobody) {
    Localizations rows;
    add(rows, 0, 10.0f, 10.0f, 9);
    add(rows, 0, 10.4f, 10.0f, 8);
    add(rows, 0, 10.8f, 10.0f, 7);  // near the second row only, which was removed
    auto keep = all_of(rows);
    EXPECT_EQ(drop_duplicates(rows, 0.5, keep), 1u);
    EXPECT_EQ(keep, (std::vector<std::size_t>{0, 2}));
}

// Compares with the definition of a duplicate, pair by pair.
TEST(Duplicates, agrees_with_all_pairs_best_first) {
    std::mt19937 random(5);
    std::uniform_real_distribution<float> place(0, 10);
    Localizations rows;
    for (int k = 0; k < 300; ++k) add(rows, k < 200 ? 0 : 1, place(random), place(random), place(random));
    auto keep = all_of(rows);
    drop_duplicates(rows, 0.6, keep);
    std::vector<std::size_t> best_first = all_of(rows), expected;
    std::sort(best_first.begin(), best_first.end(),
              [&](auto a, auto b) { return rows.detection_score[a] > rows.detection_score[b]; });
    for (std::size_t a : best_first) {
        const bool free = std::none_of(expected.begin(), expected.end(), [&](std::size_t b) {
            return rows.frame[a] == rows.frame[b] &&
                   std::hypot(rows.x_px[a] - rows.x_px[b], rows.y_px[a] - rows.y_px[b]) < 0.6f;
        });
        if (free) expected.push_back(a);
    }
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(keep, expected);
}
