// Tests of the score: against a direct weighted least-squares fit, and its variance on empty frames.
// SPDX-License-Identifier: MIT
#include "detect/score_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "tests/noise_frames.hpp"

using namespace glint;
using namespace glint::test;

namespace {

struct Maps {
    std::vector<float> score, narrow;
};

Maps maps_of(ScoreRows& rows, const std::vector<float>& frame, int width, int height) {
    Maps maps{std::vector<float>(frame.size()), std::vector<float>(frame.size())};
    std::vector<int> columns(std::size_t(width), 0);
    std::iota(columns.begin(), columns.end(), 0);
    rows.begin(frame.data());
    // The scores of a row may be requested after the next row.
    for (int y = 0; y <= height; ++y) {
        if (y < height) rows.row(y, maps.narrow.data() + std::size_t(y) * width);
        if (y > 0) rows.scores(y - 1, columns, maps.score.data() + std::size_t(y - 1) * width);
    }
    return maps;
}

double tap(double sigma, int i) {
    return 0.5 * (std::erf((i + 0.5) / (std::sqrt(2.0) * sigma)) - std::erf((i - 0.5) / (std::sqrt(2.0) * sigma)));
}

/// Returns N / sigma(N) of the weighted least-squares fit of a spot at (x, y) and a flat background, by its normal
/// equations. Uses the pixels of the window that are in the frame.
double fitted_score(const std::vector<float>& e, const std::vector<double>& w, int width, int height, double sigma,
                    int radius, int x, int y) {
    double a = 0, b = 0, c = 0, p = 0, q = 0;
    for (int j = std::max(0, y - radius); j <= std::min(height - 1, y + radius); ++j)
        for (int i = std::max(0, x - radius); i <= std::min(width - 1, x + radius); ++i) {
            const std::size_t k = std::size_t(j) * width + i;
            const double g = tap(sigma, i - x) * tap(sigma, j - y);
            a += w[k] * g, b += w[k], c += w[k] * g * g, p += w[k] * g * e[k], q += w[k] * e[k];
        }
    const double photons = (p * b - a * q) / (c * b - a * a), variance = b / (c * b - a * a);
    return photons / std::sqrt(variance);
}

struct Spread {
    double mean, deviation;
    std::size_t count;
    /// Scores at a distance d have the correlation exp(-d^2 / 4 sigma^2), so only one of 4 pi sigma^2 = 21 pixels is
    /// independent. Squares have the squared correlation, so one of half as many is. The weights of a score sum to
    /// zero. All scores of a frame therefore also do, except the `edge` share with clipped windows.
    double mean_error(double edge) const { return std::sqrt(21 * edge / double(count)); }
    double deviation_error() const { return std::sqrt(10.5 / (2 * double(count))); }
};

Spread spread_of(const std::vector<float>& values) {
    double sum = 0, squares = 0;
    for (float v : values) sum += v, squares += double(v) * v;
    const double mean = sum / double(values.size());
    return {mean, std::sqrt(squares / double(values.size()) - mean * mean), values.size()};
}

}  // namespace

TEST(ScoreRows, weighted_score_is_the_weighted_least_squares_fit_everywhere_in_the_frame) {
    const int width = 37, height = 29;
    Camera camera = mapped(make_camera(3), width, height);
    for (std::size_t k = 0; k < camera.readnoise_e.map.size(); ++k) camera.readnoise_e.map[k] = float(1 + k * 7 % 13);
    const CameraView view(camera, width, height);
    const auto frame = expose(Scene(width, height, 12), 9, 5);
    for (double sigma : {0.5, 1.3, 2.4, 5.0}) {
        const auto rows = make_weighted_score_rows(view, MatchedFilter{sigma});
        const Maps maps = maps_of(*rows, frame, width, height);
        std::vector<double> weights;
        std::vector<float> shot(std::size_t(width), 0);
        Background background(view, MatchedFilter{sigma});
        background.measure(frame.data());
        for (int y = 0; y < height; ++y) {
            background.shot_noise_row(y, shot.data());
            for (int x = 0; x < width; ++x)
                weights.push_back(1 / (shot[std::size_t(x)] + double(view.variance_map()[std::size_t(y) * width + x])));
        }
        const int radius = Filter(MatchedFilter{sigma}).radius();
        for (int y = 0; y < height; y += 2)
            for (int x = 0; x < width; x += 3)
                EXPECT_NEAR(maps.score[std::size_t(y) * width + x],
                            fitted_score(frame, weights, width, height, sigma, radius, x, y), 2e-3)
                    << sigma << " px, at " << x << ", " << y;
    }
}

TEST(ScoreRows, uniform_score_is_the_least_squares_fit_with_the_noise_of_its_place) {
    const int width = 37, height = 29;
    const CameraView view(make_camera(4), width, height);
    const auto frame = expose(Scene(width, height, 12), 4, 6);
    const std::vector<double> ones(frame.size(), 1.0);
    for (double sigma : {0.5, 1.3, 2.4, 5.0}) {
        const auto rows = make_uniform_score_rows(view, MatchedFilter{sigma});
        const Maps maps = maps_of(*rows, frame, width, height);
        const double noise = std::sqrt(double(rows->background().variance_at(5, 5)));
        // A single tile without neighbours: the same noise everywhere.
        ASSERT_EQ(rows->background().variance_at(0, 0), rows->background().variance_at(15, 15));
        for (int y = 0; y < height; y += 2)
            for (int x = 0; x < 8; ++x)
                EXPECT_NEAR(
                    maps.score[std::size_t(y) * width + x],
                    fitted_score(frame, ones, width, height, sigma, Filter(MatchedFilter{sigma}).radius(), x, y) /
                        noise,
                    2e-3)
                    << sigma << " px, at " << x << ", " << y;
    }
}

TEST(ScoreRows, uniform_and_weighted_agree_on_a_flat_frame) {
    const int width = 70, height = 51;
    const Camera camera = make_camera(2);
    const CameraView plain(camera, width, height), map(mapped(camera, width, height), width, height);
    const auto frame = expose(Scene(width, height, 100), 2, 7);
    const Maps uniform = maps_of(*make_uniform_score_rows(plain, MatchedFilter{1.3}), frame, width, height);
    const Maps weighted = maps_of(*make_weighted_score_rows(map, MatchedFilter{1.3}), frame, width, height);
    for (std::size_t k = 0; k < frame.size(); ++k) {
        EXPECT_NEAR(uniform.score[k], weighted.score[k], 0.1) << k;  // tiles differ by about 1 % in noise
        EXPECT_NEAR(uniform.narrow[k], weighted.narrow[k], 0.5) << k;
    }
}

TEST(ScoreRows, empty_frames_score_with_mean_zero_and_unit_spread) {
    const int width = 256, height = 192;
    constexpr double edge = 1 - (width - 8.0) * (height - 8) / (width * height);
    constexpr double tiles = 0.01;  // their noise is known within 14 % at worst, which raises the mean of its inverse
    for (const auto& [background, variance] :
         {std::array{0.2, 0.0}, {0.2, 4.0}, {1.0, 0.0}, {5.0, 2.0}, {20.0, 300.0}, {500.0, 0.0}, {500.0, 300.0}}) {
        const Camera camera = make_camera(variance);
        const CameraView plain(camera, width, height), map(mapped(camera, width, height), width, height);
        const auto frame = expose(Scene(width, height, background), variance, 11);
        for (const auto& rows :
             {make_uniform_score_rows(plain, MatchedFilter{1.3}), make_weighted_score_rows(map, MatchedFilter{1.3})}) {
            const Spread spread = spread_of(maps_of(*rows, frame, width, height).score);
            EXPECT_NEAR(spread.mean, 0, 4 * spread.mean_error(edge)) << background << ", " << variance;
            EXPECT_NEAR(spread.deviation, 1, tiles + 4 * spread.deviation_error()) << background << ", " << variance;
        }
    }
}

TEST(ScoreRows, em_register_has_unit_spread_only_with_its_excess_noise) {
    const int width = 256, height = 256;
    const auto frame = expose(Scene(width, height, 20), 1, 12, CameraKind::EMCCD);
    for (CameraKind kind : {CameraKind::EMCCD, CameraKind::Ideal}) {
        const CameraView view(make_camera(1, kind), width, height);
        const Spread spread =
            spread_of(maps_of(*make_score_rows(view, MatchedFilter{1.3}), frame, width, height).score);
        const double expected = kind == CameraKind::EMCCD ? 1 : std::sqrt(41.0 / 21);
        EXPECT_NEAR(spread.deviation / expected, 1, 0.01 + 4 * spread.deviation_error());
    }
}

TEST(ScoreRows, every_instruction_set_gives_the_same_rows) {
    const int width = 83;
    const Filter filter(MatchedFilter{1.3});
    const int height = 2 * filter.radius() + rows_together;
    const auto frame = expose(Scene(width, height, 30), 2, 13);
    std::vector<const float*> window;
    for (int y = 0; y < height; ++y) window.push_back(frame.data() + std::size_t(y) * width);
    const std::vector<float> ratio(std::size_t(width), 0.012f), ones(std::size_t(width), 1);
    const UniformNorms norms{ratio.data(), ones.data(), ones.data()};
    std::vector<int> columns(std::size_t(width), 0);
    std::iota(columns.begin(), columns.end(), 0);
    const auto run = [&](auto column_sums, auto narrow, auto scores) {
        std::vector<SumRows> rows(rows_together, SumRows(width));
        std::vector<ColumnSums> sums;
        for (SumRows& row : rows) sums.push_back(row.sums());
        column_sums(window.data(), filter.kernels(), width, sums.data());
        Maps maps;
        for (const ColumnSums& row : sums) {
            std::vector<float> of_row(std::size_t(width), 0);
            narrow(row.third, filter.kernels().narrow, ones.data(), width, of_row.data());
            maps.narrow.insert(maps.narrow.end(), of_row.begin(), of_row.end());
            scores(row, filter.kernels(), norms, columns.data(), width, of_row.data());
            maps.score.insert(maps.score.end(), of_row.begin(), of_row.end());
        }
        return maps;
    };
    const Maps active = run(GLINT_PICK(narrow_column_sums), GLINT_PICK(uniform_narrow), GLINT_PICK(uniform_scores));
#if defined(__x86_64__)
    const Maps plain = run(sse2::narrow_column_sums, sse2::uniform_narrow, sse2::uniform_scores);
#else
    const Maps plain = run(neon::narrow_column_sums, neon::uniform_narrow, neon::uniform_scores);
#endif
    for (std::size_t k = 0; k < active.score.size(); ++k) {
        EXPECT_NEAR(active.score[k], plain.score[k], 1e-4) << k;
        EXPECT_NEAR(active.narrow[k], plain.narrow[k], 1e-4) << k;
    }
}

TEST(ScoreRows, maxima_are_higher_than_what_comes_before_and_no_lower_than_what_comes_after) {
    const int width = 83;
    Random random(14, Stream::roi_noise, 0);
    std::vector<PaddedRow> rows(3, PaddedRow(width, -1));
    for (PaddedRow& row : rows)
        for (int x = 0; x < width; ++x) row.data()[x] = float(int(random.uniform() * 6));  // many are equal
    std::vector<int> expected, found(std::size_t(width) + row_margin);
    for (int x = 0; x < width; ++x) {
        bool is_maximum = true;
        for (int y = -1; y <= 1; ++y)
            for (int i = -1; i <= 1; ++i) {
                const float other = rows[std::size_t(1 + y)].data()[x + i], value = rows[1].data()[x];
                if (y < 0 || (y == 0 && i < 0)) is_maximum = is_maximum && value > other;
                if (y > 0 || (y == 0 && i > 0)) is_maximum = is_maximum && value >= other;
            }
        if (is_maximum) expected.push_back(x);
    }
    ASSERT_GT(expected.size(), 3u);
    const SearchedRows searched{rows[0].data(), rows[1].data(), rows[2].data()};
#if defined(__x86_64__)
    for (const auto find : {GLINT_PICK(find_maxima), sse2::find_maxima}) {
#else
    for (const auto find : {neon::find_maxima}) {
#endif
        const int count = find(searched, width, found.data());
        EXPECT_EQ(std::vector(found.begin(), found.begin() + count), expected);
    }
}
