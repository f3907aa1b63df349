// Tests of scores: tables with results computed by hand, and a table too large for a dense matrix.
// SPDX-License-Identifier: MIT
#include "glint/score.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

#include "analysis/points.hpp"
#include "glint/error.hpp"
#include "tests/expect_error.hpp"

using namespace glint;
using test::expect_error;

namespace {

/// Rows of frame, x and y (nm), with pixels of 100 nm.
Localizations table(const std::vector<std::array<double, 3>>& rows) {
    Localizations out;
    for (const auto& [frame, x_nm, y_nm] : rows) {
        out.frame.push_back(std::uint32_t(frame));
        out.x_px.push_back(float(x_nm / 100)), out.y_px.push_back(float(y_nm / 100));
    }
    out.pixel_size_nm = 100;
    return out;
}

/// The optimal assignment by brute force: the maximum number of pairs, then the smallest total.
std::pair<int, double> by_permutation(std::span<const Point> rows, std::span<const Point> columns, double radius) {
    std::vector<int> order(std::max(rows.size(), columns.size()));
    std::iota(order.begin(), order.end(), 0);
    std::pair<int, double> best{0, 0};
    do {
        std::pair<int, double> now{0, 0};
        for (std::size_t r = 0; r < rows.size(); ++r) {
            if (order[r] >= int(columns.size())) continue;
            const Point& q = columns[order[r]];
            const double distance = std::hypot(rows[r].x_nm - q.x_nm, rows[r].y_nm - q.y_nm);
            if (distance <= radius) ++now.first, now.second -= distance;
        }
        best = std::max(best, now);
    } while (std::next_permutation(order.begin(), order.end()));
    return {best.first, -best.second};
}

std::vector<Point> random_points(std::mt19937& random, std::size_t n, double edge_nm) {
    std::uniform_real_distribution<double> at(0, edge_nm);
    std::vector<Point> points(n);
    for (Point& p : points) p = {at(random), at(random), 0};
    return points;
}

Localizations with_frames_moved(Localizations table, int by) {
    for (std::uint32_t& frame : table.frame) frame += std::uint32_t(by);
    return table;
}

}  // namespace

// Molecules shine for three frames each. With frames off by one, two of the three still match.
TEST(Score, warns_of_frames_that_are_off_by_one) {
    std::mt19937 random(1);
    std::vector<std::array<double, 3>> rows;
    for (const Point& p : random_points(random, 300, 20000)) {
        const auto first = double(1 + rows.size() / 30 * 4);
        for (int k = 0; k < 3; ++k) rows.push_back({first + k, p.x_nm, p.y_nm});
    }
    const Localizations truth = table(rows);
    for (const int by : {-1, 0, 1}) {
        const Localizations found = with_frames_moved(truth, by);
        const double recall = score(found, truth).recall;
        EXPECT_EQ(recall == 1, by == 0);
        const std::string warning = frames_warning(found, truth, {}, recall);
        EXPECT_EQ(warning.empty(), by == 0) << warning;
        EXPECT_NE(warning.find(by > 0 ? "1 less" : by < 0 ? "1 greater" : ""), std::string::npos) << warning;
    }
    std::vector<std::array<double, 3>> half(rows.begin(), rows.begin() + 450);
    EXPECT_EQ(frames_warning(table(half), truth, {}, 0.5), "") << "half of all are missed, but frames are right";
}

TEST(Score, does_not_take_an_empty_table_for_the_truth) {
    Localizations precise;
    precise.frame = {0}, precise.x_px = precise.y_px = {1}, precise.lpx_px = precise.lpy_px = {0.1f};
    EXPECT_EQ(order_warning({}, precise), "");
    Localizations bare = precise;
    bare.lpx_px.clear();
    EXPECT_NE(order_warning(bare, precise), "");
}

TEST(Score, agrees_with_results_computed_by_hand) {
    const Localizations truth = table({{0, 0, 0}, {0, 1000, 0}, {1, 500, 500}, {3, 0, 0}});
    const Localizations found = table({{1, 510, 480}, {0, 30, 40}, {0, 1000, 900}, {2, 0, 0}});
    const Score s = score(found, truth, {.radius_nm = 100});
    EXPECT_EQ(s.truths, 4u);
    EXPECT_EQ(s.localizations, 4u);
    EXPECT_EQ(s.matched, 2u);
    EXPECT_DOUBLE_EQ(s.recall, 0.5);
    EXPECT_DOUBLE_EQ(s.precision, 0.5);
    EXPECT_DOUBLE_EQ(s.jaccard, 2.0 / 6);
    EXPECT_NEAR(s.rmse_nm, std::sqrt((2500 + 500) / 2.0), 1e-3);
    EXPECT_NEAR(s.rmse_x_nm, std::sqrt((900 + 100) / 2.0), 1e-3);
    EXPECT_NEAR(s.rmse_y_nm, std::sqrt((1600 + 400) / 2.0), 1e-3);
    EXPECT_NEAR(s.bias_x_nm, 20, 1e-3);
    EXPECT_NEAR(s.bias_y_nm, 10, 1e-3);
    // Frame 0: 50 and 900 in both directions. Frame 1: sqrt(500) in both directions.
    EXPECT_NEAR(s.rmsmd_nm, std::sqrt((2500 + 810000 + 2500 + 810000 + 500 + 500) / 6.0), 1e-2);
    EXPECT_NEAR(s.rmsmd_truths_nm, std::sqrt((2500 + 810000 + 500) / 3.0), 1e-2);
    EXPECT_NEAR(s.rmsmd_localizations_nm, std::sqrt((2500 + 810000 + 500) / 3.0), 1e-2);
    // Without regard to frames, (0, 0) has a localization in frame 2, and (1000, 0) is nearest to (510, 480).
    EXPECT_EQ(s.emitters, 3u);
    EXPECT_NEAR(s.rmsmd_map_emitters_nm, std::sqrt((0 + 470500 + 500) / 3.0), 1e-2);
    EXPECT_NEAR(s.rmsmd_map_localizations_nm, std::sqrt((500 + 2500 + 410000 + 0) / 4.0), 1e-2);
    EXPECT_NEAR(s.rmsmd_map_nm, std::sqrt((471000 + 413000) / 7.0), 1e-2);
    EXPECT_EQ(s.radius_nm, 100);
    EXPECT_NEAR(s.efficiency_lateral, 100 - std::sqrt(std::pow(100 - 100 / 3.0, 2) + 1500), 1e-3);
    EXPECT_FALSE(s.has_z);
    for (const double none : {s.rmse_z_nm, s.efficiency_axial, s.efficiency_3d, s.std_over_crlb_x, s.mad_over_crlb_y})
        EXPECT_TRUE(std::isnan(none)) << none;
}

TEST(Score, maximizes_pairs_before_it_minimizes_distances) {
    // Matching the closest pair (40, 50) would leave two points unmatched.
    const Localizations truth = table({{0, 0, 0}, {0, 50, 0}});
    const Localizations found = table({{0, 40, 0}, {0, 140, 0}});
    const Score s = score(found, truth, {.radius_nm = 95});
    EXPECT_EQ(s.matched, 2u);
    EXPECT_NEAR(s.bias_x_nm, (40 + 90) / 2.0, 1e-3);
    EXPECT_EQ(score(found, truth, {.radius_nm = 60}).matched, 1u);
    EXPECT_NEAR(score(found, truth, {.radius_nm = 60}).bias_x_nm, -10, 1e-3);
}

// An unmatched row once cost the radius times the number of rows. That overflows a double, or loses the digits of
// distances.
TEST(Score, a_huge_radius_still_pairs_closely) {
    const Localizations truth = table({{0, 0, 0}, {0, 500, 0}, {0, 1000, 0}});
    const Localizations found = table({{0, 1010, 0}, {0, 10, 0}, {0, 510, 0}});
    for (const double radius_nm : {1e6, 1e20, 1e308}) {
        const Score s = score(found, truth, {.radius_nm = radius_nm});
        EXPECT_EQ(s.matched, 3u);
        EXPECT_NEAR(s.rmse_nm, 10, 1e-3) << radius_nm;
    }
}

TEST(Score, z_is_scored_and_can_limit_matches) {
    Localizations truth = table({{0, 0, 0}, {0, 1000, 0}}), found = truth;
    truth.z_nm = {0, 100}, found.z_nm = {30, -150};
    found.lpz_nm = {10, 10};
    const Score free = score(found, truth);
    EXPECT_TRUE(free.has_z);
    EXPECT_EQ(free.matched, 2u);
    EXPECT_NEAR(free.rmse_z_nm, std::sqrt((900 + 62500) / 2.0), 1e-3);
    EXPECT_NEAR(free.bias_z_nm, -110, 1e-3);
    EXPECT_NEAR(free.std_over_crlb_z, 14, 1e-3);
    EXPECT_NEAR(free.efficiency_lateral, 100, 1e-9);
    EXPECT_NEAR(free.efficiency_axial, 100 - 0.5 * free.rmse_z_nm, 1e-9);
    EXPECT_NEAR(free.efficiency_3d, 100 - 0.25 * free.rmse_z_nm, 1e-9);
    EXPECT_NEAR(free.rmsmd_nm, free.rmse_z_nm, 1e-9) << "distances are 3D";
    EXPECT_NEAR(free.rmsmd_map_nm, free.rmse_z_nm, 1e-9);
    const Score near = score(found, truth, {.radius_nm = 100, .axial_radius_nm = 50});
    EXPECT_EQ(near.matched, 1u);
    EXPECT_NEAR(near.efficiency_axial, 100 - std::hypot(100 * 2 / 3.0, 15), 1e-3);
    truth.z_nm.clear();
    const Score flat = score(found, truth, {.radius_nm = 100, .axial_radius_nm = 50});
    EXPECT_EQ(flat.matched, 2u) << "z counts only where both have it";
    EXPECT_EQ(flat.rmsmd_map_nm, 0);
}

TEST(Score, recall_by_the_distance_of_the_nearest_neighbor) {
    // Pairs of truths along y. Their distance is the start of a bin, or a bit less than its end. The first of each pair
    // is found.
    const std::array<std::array<double, 2>, 7> bins{
        {{0, 99}, {100, 149}, {150, 199}, {200, 249}, {250, 299}, {300, 399}, {400, 2000}}};
    std::vector<std::array<double, 3>> truths, found;
    for (const auto& bin : bins)
        for (const double apart : bin) {
            const double frame = double(truths.size());
            truths.push_back({frame, 0, 0}), truths.push_back({frame, 0, apart});
            found.push_back({frame, 3, 0});
        }
    truths.push_back({1000, 0, 0});  // alone, in a frame without localizations
    const Score s = score(table(found), table(truths), {.radius_nm = 50});
    std::size_t sum = 0;
    for (std::size_t k = 0; k < bins.size(); ++k) {
        const NeighborBin& bin = s.recall_by_neighbor[k];
        EXPECT_NEAR(bin.from_px, bins[k][0] / 100, 1e-9);
        EXPECT_EQ(bin.truths, k == 6 ? 5u : 4u) << k;
        EXPECT_EQ(bin.matched, 2u) << k;
        EXPECT_DOUBLE_EQ(bin.recall(), k == 6 ? 0.4 : 0.5);
        sum += bin.truths;
    }
    EXPECT_EQ(sum, s.truths);

    Localizations deep_truth = table(truths), deep_found = table(found);
    deep_found.z_nm.assign(found.size(), 0);
    for (std::size_t k = 0; k < truths.size(); ++k) deep_truth.z_nm.push_back(k % 2 ? 5000 : 0);
    EXPECT_EQ(score(deep_found, deep_truth, {.radius_nm = 50}).recall_by_neighbor[0].truths, 4u)
        << "molecules above each other are neighbours";
    EXPECT_TRUE(std::isnan(score(table({}), table({})).recall_by_neighbor[0].recall()));
}

// A squared distance of a localization is 2 sigma^2 times an exponential variable. The smallest of k has the mean 2
// sigma^2 / k.
TEST(Score, minimum_distances_of_blinking_emitters_agree_with_theory) {
    std::mt19937 random(9);
    const int emitters = 3000, times = 5;
    const double sigma_nm = 20;
    std::normal_distribution<double> error_nm(0, sigma_nm);
    std::vector<std::array<double, 3>> truths, found;
    for (int k = 0; k < emitters; ++k)
        for (int t = 0; t < times; ++t) {
            const double x_nm = 1000 * (k % 50), y_nm = 1000 * (k / 50);  // far apart
            truths.push_back({double(k * times + t), x_nm, y_nm});
            found.push_back({double(k * times + t), x_nm + error_nm(random), y_nm + error_nm(random)});
        }
    const Score s = score(table(found), table(truths), {.radius_nm = 200});
    const auto near = [](double rms, double expected, int n) {
        EXPECT_NEAR(rms, expected, 4 * 0.5 * expected / std::sqrt(n));
    };
    const int rows = emitters * times;
    EXPECT_EQ(s.emitters, std::size_t(emitters));
    near(s.rmsmd_nm, std::sqrt(2) * sigma_nm, rows);
    near(s.rmsmd_map_localizations_nm, std::sqrt(2) * sigma_nm, rows);
    near(s.rmsmd_map_emitters_nm, std::sqrt(2.0 / times) * sigma_nm, emitters);
    near(s.rmsmd_map_nm, sigma_nm * std::sqrt(2 * (1.0 / times + times) / (1 + times)), rows);
    EXPECT_NEAR(s.rmsmd_nm, s.rmse_nm, 1e-9) << "one of each in a frame";
}

TEST(Score, spread_over_crlb_is_one_for_errors_as_large_as_stated) {
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    const int n = 20000;
    Localizations truth, found;
    truth.pixel_size_nm = found.pixel_size_nm = 100;
    for (int k = 0; k < n; ++k) {
        const float precision = 0.05f + 0.1f * float(k % 7) / 7;
        truth.frame.push_back(k), truth.x_px.push_back(5), truth.y_px.push_back(5);
        found.frame.push_back(k), found.lpx_px.push_back(precision), found.lpy_px.push_back(precision);
        found.x_px.push_back(float(5 + precision * normal(random)));
        found.y_px.push_back(float(5 + 2 * precision * normal(random)));
    }
    const Score s = score(found, truth, {.radius_nm = 1000});
    EXPECT_NEAR(s.std_over_crlb_x, 1, 4 / std::sqrt(2.0 * n));
    EXPECT_NEAR(s.std_over_crlb_y, 2, 8 / std::sqrt(2.0 * n));
    // For normal values, the standard error of the median absolute deviation is 1.166 / sqrt(n).
    EXPECT_NEAR(s.mad_over_crlb_x, 1, 4 * 1.166 / std::sqrt(n));
    EXPECT_NEAR(s.mad_over_crlb_y, 2, 8 * 1.166 / std::sqrt(n));

    // One error in 100 is gross, with 30 standard errors. The median absolute deviation becomes the 50/99 quantile,
    // 1.0118 times the old value.
    for (int k = 0; k < n; k += 100) found.x_px[k] = truth.x_px[k] + 30 * found.lpx_px[k];
    const Score tails = score(found, truth, {.radius_nm = 1000});
    EXPECT_NEAR(tails.mad_over_crlb_x, 1.0118, 4 * 1.166 / std::sqrt(n));
    EXPECT_GT(tails.std_over_crlb_x, 2.9) << "sqrt(0.99 + 0.01 * 0.99 * 900) = 3.15";

    // Rows without a stated precision count for the errors, but not for the pulls.
    for (int k = 0; k < n; k += 100) found.lpx_px[k] = k % 200 ? NAN : 0;
    EXPECT_NEAR(score(found, truth, {.radius_nm = 1000}).std_over_crlb_x, 1, 4 / std::sqrt(2.0 * n));
    found.lpx_px.assign(found.size(), INFINITY);
    EXPECT_TRUE(std::isnan(score(found, truth, {.radius_nm = 1000}).mad_over_crlb_x));
}

TEST(Score, empty_and_broken_tables) {
    Localizations none;
    none.pixel_size_nm = 100;
    const Localizations one = table({{0, 0, 0}});
    EXPECT_EQ(score(none, one).recall, 0);
    EXPECT_EQ(score(one, none).jaccard, 0);
    for (const Score& s : {score(none, none), score(none, one), score(one, none)}) {
        for (const double unknown : {s.rmse_nm, s.bias_x_nm, s.rmsmd_nm, s.rmsmd_map_nm, s.efficiency_lateral})
            EXPECT_TRUE(std::isnan(unknown)) << unknown;
    }
    EXPECT_TRUE(std::isnan(score(one, none).recall) && std::isnan(score(none, none).recall)) << "without truths";
    EXPECT_TRUE(std::isnan(score(none, one).precision) && std::isnan(score(none, none).precision));
    EXPECT_TRUE(std::isnan(score(none, none).jaccard));
    EXPECT_EQ(score(one, none).precision, 0);
    EXPECT_EQ(score(none, one).recall_by_neighbor[6].truths, 1u);
    EXPECT_EQ(score(none, one).emitters, 1u);
    Localizations nan = table({{0, NAN, 0}, {0, 1e30, -1e30}, {0, 5, 0}});
    const Score s = score(nan, one);
    EXPECT_EQ(s.matched, 1u);
    EXPECT_EQ(s.localizations, 3u);
    EXPECT_NEAR(s.rmse_nm, 5, 1e-3);
    nan.pixel_size_nm = 0;
    EXPECT_THROW(score(nan, one), OptionError);
    EXPECT_THROW(score(one, one, {.radius_nm = 0}), OptionError);
    for (const double wrong : {-1.0, double(NAN), double(INFINITY)}) {
        EXPECT_THROW(score(one, one, {.radius_nm = wrong}), OptionError);
        EXPECT_THROW(score(one, one, {.axial_radius_nm = wrong}), OptionError);
    }
    nan = one;
    nan.y_px.clear();
    EXPECT_THROW(score(one, nan), OptionError);
    for (const auto column :
         {&Localizations::z_nm, &Localizations::lpx_px, &Localizations::lpy_px, &Localizations::lpz_nm}) {
        Localizations short_column = table({{0, 0, 0}, {1, 0, 0}});
        (short_column.*column).assign(1, 1.0f);
        EXPECT_THROW(score(short_column, one), OptionError);
    }
}

TEST(Score, truths_without_a_position_are_missed) {
    const Score s = score(table({{0, 0, 0}}), table({{0, 0, 0}, {0, NAN, 0}, {0, 20, INFINITY}}));
    EXPECT_EQ(s.matched, 1u);
    EXPECT_EQ(s.emitters, 1u);
    EXPECT_EQ(s.rmsmd_nm, 0);
    EXPECT_EQ(s.recall_by_neighbor[6].truths, 3u) << "they have no neighbours";
}

TEST(Matching, agrees_with_every_permutation) {
    std::mt19937 random(4);
    for (int trial = 0; trial < 300; ++trial) {
        const std::vector<Point> rows = random_points(random, 1 + random() % 6, 300);
        const std::vector<Point> columns = random_points(random, 1 + random() % 6, 300);
        const std::vector<int> partner = assign(pairs_within(rows, columns, 120, 0), columns.size());
        std::pair<int, double> found{0, 0};
        std::vector<int> used;
        for (std::size_t r = 0; r < rows.size(); ++r) {
            if (partner[r] < 0) continue;
            used.push_back(partner[r]);
            ++found.first;
            found.second +=
                std::hypot(rows[r].x_nm - columns[partner[r]].x_nm, rows[r].y_nm - columns[partner[r]].y_nm);
        }
        std::sort(used.begin(), used.end());
        EXPECT_EQ(std::adjacent_find(used.begin(), used.end()), used.end()) << "a column has two rows";
        const auto best = by_permutation(rows, columns, 120);
        EXPECT_EQ(found.first, best.first);
        EXPECT_NEAR(found.second, best.second, 1e-9);
    }
}

TEST(Matching, pairs_agree_with_brute_force) {
    std::mt19937 random(6);
    const std::vector<Point> rows = random_points(random, 150, 2000), columns = random_points(random, 130, 2000);
    const Candidates pairs = pairs_within(rows, columns, 150, 0);
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const auto within = std::count_if(columns.begin(), columns.end(), [&](const Point& q) {
            return std::hypot(rows[r].x_nm - q.x_nm, rows[r].y_nm - q.y_nm) <= 150;
        });
        EXPECT_EQ(pairs.row_begin[r + 1] - pairs.row_begin[r], std::size_t(within));
    }
}

// Five thousand points with about five neighbours each form one component. A dense matrix would take 200 MB.
TEST(Matching, a_crowded_frame_takes_no_quadratic_memory_or_time) {
    std::mt19937 random(8);
    const std::vector<Point> rows = random_points(random, 5000, 5000), columns = random_points(random, 5000, 5000);
    const std::vector<int> partner = assign(pairs_within(rows, columns, 90, 0), columns.size());
    const auto paired = std::count_if(partner.begin(), partner.end(), [](int p) { return p >= 0; });
    EXPECT_GT(paired, 4400);
    EXPECT_LE(paired, 5000);
}

// Positions are in pixels. If the pixel sizes differ, one is wrong, and all results in nm are wrong, too.
TEST(Score, refuses_tables_of_two_pixel_sizes) {
    const Localizations one = table({{0, 500, 0}});
    Localizations other = one;
    other.pixel_size_nm = 130;
    ScoreOptions options;
    options.localizations_name = "a.hdf5", options.truth_name = "b.hdf5";
    expect_error<OptionError>([&] { score(one, other, options); },
                              {"a.hdf5 has pixels of 100 nm and b.hdf5 of 130 nm", ".yaml", "-o truth.csv"});
    other.pixel_size_nm = 100 * (1 + 5e-6);  // rounded as in file formats
    EXPECT_EQ(score(one, other, options).matched, 1u);
}
