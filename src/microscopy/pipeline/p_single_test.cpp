// p_single equals the share of rows that represent one molecule, for random molecules and for molecules on lines.
// SPDX-License-Identifier: MIT
#include "pipeline/p_single.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>

#include "pipeline/lone_spots.hpp"
#include "tests/drawn_movie.hpp"

namespace glint {
namespace {

using namespace test;

constexpr int edge = 64, frames = 60;
constexpr double sigma_px = 1.3, background = 10;

struct Point {
    double x, y;
};
using Truth = std::vector<std::vector<Point>>;  // by frame

double gaussian(double from_centre) {
    const double scale = 1 / (std::sqrt(2.0) * sigma_px);
    return (std::erf((from_centre + 0.5) * scale) - std::erf((from_centre - 0.5) * scale)) / 2;
}

/// Returns a movie of molecules with 400 to 1,600 photons, at random or on three lines.
std::unique_ptr<Movie> movie_of(double per_frame, bool on_lines, Truth& truth) {
    std::mt19937 random(on_lines ? 5 : 4);
    std::uniform_real_distribution<double> place(-0.5, edge - 0.5), photons(400, 1600);
    truth.assign(frames, {});
    return drawn_movie(frames, edge, random, [&](int frame) {
        std::vector<Point>& molecules = truth[std::size_t(frame)];
        std::vector<double> mu(std::size_t(edge) * edge, background);
        const int count = std::poisson_distribution<int>(per_frame)(random);
        for (int k = 0; k < count; ++k) {
            const double along = place(random);
            const Point lines[] = {{along, 12 + 0.2 * along}, {along, 34 + 0.1 * along}, {along, 55 - 0.3 * along}};
            const Point at = on_lines ? lines[random() % 3] : Point{along, place(random)};
            const double n = photons(random);
            molecules.push_back(at);
            for (int y = std::max(0, int(at.y) - 7); y < std::min(edge, int(at.y) + 9); ++y)
                for (int x = std::max(0, int(at.x) - 7); x < std::min(edge, int(at.x) + 9); ++x)
                    mu[std::size_t(y) * edge + std::size_t(x)] += n * gaussian(x - at.x) * gaussian(y - at.y);
        }
        return mu;
    });
}

LocalizeOptions options() {
    LocalizeOptions options = drawn_options();
    options.backend = Backend::cpu;
    return options;
}

/// Returns for each row whether it is the nearest row of exactly one molecule.
std::vector<bool> are_single(const Localizations& rows, const Truth& truth) {
    std::vector<int> molecules(rows.size(), 0);
    for (std::size_t frame = 0; frame < truth.size(); ++frame)
        for (const Point& molecule : truth[frame]) {
            double best = 1.6 * sigma_px;
            std::size_t nearest = rows.size();
            for (std::size_t k = 0; k < rows.size(); ++k)
                if (rows.frame[k] == frame)
                    if (const double r = std::hypot(rows.x_px[k] - molecule.x, rows.y_px[k] - molecule.y); r < best)
                        best = r, nearest = k;
            if (nearest < rows.size()) ++molecules[nearest];
        }
    std::vector<bool> single;
    for (const int count : molecules) single.push_back(count == 1);
    return single;
}

/// Returns equal rows of one frame at these positions.
Localizations table(const std::vector<Point>& places) {
    Localizations rows;
    for (const Point& at : places) {
        rows.frame.push_back(0), rows.x_px.push_back(float(at.x)), rows.y_px.push_back(float(at.y));
        rows.photons.push_back(1000), rows.lpx_px.push_back(0.06F), rows.lpy_px.push_back(0.08F);
        rows.sx_px.push_back(float(sigma_px)), rows.sy_px.push_back(float(sigma_px));
        rows.status.push_back(std::uint8_t(FitStatus::converged));
    }
    return rows;
}

LocalizeJob job() {
    Truth truth;
    const auto movie = movie_of(1, false, truth);
    return make_job(movie->info(), drawn_camera(), options());
}

}  // namespace

// The standard error of a share of about 0.8 among n rows is 0.4 / sqrt(n).
TEST(PSingle, is_the_share_of_rows_that_stand_for_one_molecule) {
    for (const bool on_lines : {false, true})
        for (const double per_frame : {on_lines ? 12.0 : 30.0, on_lines ? 30.0 : 100.0}) {
            Truth truth;
            const auto movie = movie_of(per_frame, on_lines, truth);
            const Localizations rows = localize_frames(*movie, drawn_camera(), options());
            const std::vector<bool> single = are_single(rows, truth);
            const std::vector<double>& p = rows.extra.at(p_single_column).values;
            ASSERT_EQ(p.size(), rows.size());
            double stated = 0, found = 0, sure = 0, single_if_sure = 0, unsure = 0, single_if_unsure = 0;
            for (std::size_t k = 0; k < rows.size(); ++k) {
                EXPECT_TRUE(p[k] >= 0 && p[k] <= 1);
                stated += p[k], found += single[k];
                if (p[k] > 0.95) ++sure, single_if_sure += single[k];
                if (p[k] < 0.4) ++unsure, single_if_unsure += single[k];
            }
            const double n = double(rows.size());
            EXPECT_NEAR(stated / n, found / n, 0.05 + 4 * 0.4 / std::sqrt(n)) << on_lines << per_frame;
            if (sure > 50) {
                EXPECT_GT(single_if_sure / sure, 0.9) << on_lines << per_frame;
            }
            if (unsure > 20) {
                EXPECT_LT(single_if_unsure / unsure, 0.5) << on_lines << per_frame;
            }
        }
}

TEST(PSingle, is_near_one_without_neighbours_and_falls_with_density) {
    const LocalizeJob one = job();
    Localizations alone = table({{20, 20}}), few = table({{10, 10}, {40, 40}, {10, 50}});
    add_p_single(one, alone), add_p_single(one, few);
    EXPECT_GT(alone.extra.at(p_single_column).values[0], 0.97);
    for (const double p : few.extra.at(p_single_column).values) EXPECT_GT(p, 0.97);
    std::vector<double> by_density;
    std::mt19937 random(1);
    std::uniform_real_distribution<double> place(0, edge - 1);
    for (const int count : {20, 80, 320}) {
        std::vector<Point> places;
        for (int k = 0; k < count; ++k) places.push_back({place(random), place(random)});
        Localizations rows = table(places);
        add_p_single(one, rows);
        double mean = 0;
        for (const double p : rows.extra.at(p_single_column).values) mean += p / count;
        by_density.push_back(mean);
    }
    EXPECT_GT(by_density[0], by_density[1]);
    EXPECT_GT(by_density[1], by_density[2]);
}

TEST(PSingle, below_one_half_the_stated_precision_says_so) {
    const LocalizeJob one = job();
    std::vector<Point> dense;
    for (double y = 2; y < edge; y += 2.9)
        for (double x = 2; x < edge; x += 2.9) dense.push_back({x, y});
    Localizations rows = table(dense);
    rows.photons[0] = 5000;  // far more than the other rows have
    rows.status[1] = std::uint8_t(FitStatus::iteration_limit);
    const Localizations before = rows;
    add_p_single(one, rows);
    const std::vector<double>& p = rows.extra.at(p_single_column).values;
    EXPECT_LT(p[0], 0.5);
    EXPECT_EQ(p[1], 0) << "not converged";
    for (std::size_t k = 0; k < rows.size(); ++k) {
        const double more =
            p[k] < probably_single && k != 1 ? several_variance(p[k], std::sqrt(0.06 * 0.08), sigma_px) : 0;
        EXPECT_NEAR(rows.lpx_px[k], std::sqrt(0.06 * 0.06 + more), 1e-6) << k;
        EXPECT_NEAR(rows.lpy_px[k], std::sqrt(0.08 * 0.08 + more), 1e-6) << k;
        EXPECT_EQ(rows.x_px[k], before.x_px[k]);
    }
}

TEST(PSingle, molecules_on_lines_are_known_by_their_pairs) {
    Truth truth;
    const auto random = movie_of(30, false, truth);
    const auto lines = movie_of(20, true, truth);
    EXPECT_NEAR(prepare_job(*random, drawn_camera(), options()).lone.pair_excess, 1, 0.1);
    EXPECT_GT(prepare_job(*lines, drawn_camera(), options()).lone.pair_excess, 1.5);
    LocalizeOptions given = options();
    given.fit.psf_misfit = 0.02;
    EXPECT_EQ(prepare_job(*lines, drawn_camera(), given).lone.pair_excess, 0);
}

}  // namespace glint
