// Estimates from lone spots: the misfit and the width.
// SPDX-License-Identifier: MIT
#include "pipeline/lone_spots.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "glint/simulate.hpp"
#include "psf/in_double.hpp"
#include "tests/drawn_movie.hpp"

namespace glint {
namespace {

using namespace test;

constexpr double pixel_nm = 100, background = 10;
constexpr int edge = 64, apart = 16, frames = 40;

/// Returns a movie of spots with 1,000 to 10,000 photons on a grid, each at a random position in its pixel. Every other
/// spot has `other_sigma_nm`, unless that is 0.
std::unique_ptr<Movie> grid_movie(double sigma_nm, double other_sigma_nm = 0) {
    Psf psf, other;
    psf.sigma_nm = sigma_nm, other.sigma_nm = other_sigma_nm > 0 ? other_sigma_nm : sigma_nm;
    const PsfInDouble in_double(psf, pixel_nm), other_in_double(other, pixel_nm);
    std::mt19937 random(1);
    std::uniform_real_distribution<double> within(-0.5, 0.5), log_photons(std::log(1000), std::log(10000));
    return drawn_movie(frames, edge, random, [&](int) {
        std::vector<double> mu(std::size_t(edge) * edge, background);
        for (int y = apart / 2; y < edge; y += apart)
            for (int x = apart / 2; x < edge; x += apart) {
                const double theta[4] = {x + within(random), y + within(random), std::exp(log_photons(random)), 0};
                ((x + y) / apart % 2 ? other_in_double : in_double).add_photons(theta, 0, 0, edge, edge, mu.data());
            }
        return mu;
    });
}

}  // namespace

TEST(LoneSpots, of_the_given_width_say_nothing) {
    const auto movie = grid_movie(130);
    const LocalizeJob job = prepare_job(*movie, drawn_camera(), drawn_options());
    EXPECT_GE(job.lone.count, 140) << "200, and few of them beyond the peak";
    EXPECT_GE(job.lone.found, 200);
    EXPECT_EQ(job.options.fit.psf_misfit, 0.02) << "the least";
    EXPECT_NEAR(job.lone.width_nm, 130, 5 * job.lone.width_error_nm);
    EXPECT_LT(job.lone.width_error_nm, 2)
        << "spots of 1,000 photons and more know their width to 2 %, and there are many";
    EXPECT_EQ(width_advice(job.lone, job.options.psf), "");
}

TEST(LoneSpots, tell_a_full_width_that_was_taken_for_a_standard_deviation) {
    LoneSpots lone{.found = 300, .count = 300, .width_nm = 130, .width_error_nm = 1};
    const auto advice = [&](double sigma_nm) {
        Psf psf;
        psf.sigma_nm = sigma_nm;
        return width_advice(lone, psf);
    };
    EXPECT_NE(advice(2.355 * 130).find("was the full width at half maximum given?"), std::string::npos);
    EXPECT_EQ(advice(200).find("full width"), std::string::npos);
    EXPECT_NE(advice(200), "");
    EXPECT_NE(advice(143), "") << "10 % too large";
    EXPECT_NE(advice(117), "") << "10 % too small";
    EXPECT_EQ(advice(134), "") << "3 %";
    lone.width_error_nm = 4;
    EXPECT_EQ(advice(143), "") << "within four errors";
}

// At 0.03 molecules per pixel most lone spots are several molecules, at 0.05 nearly all are.
TEST(LoneSpots, of_crowds_do_not_describe_the_psf) {
    for (const double spots : {500.0, 800.0}) {
        SimulateOptions crowd;
        crowd.structure = Structure::random, crowd.psf = drawn_options().psf;
        crowd.width = crowd.height = 128, crowd.frames = 10, crowd.spots_per_frame = spots;
        FrameBlock block;
        Simulation(crowd, drawn_camera()).read(0, int(crowd.frames), block);
        const LocalizeJob job =
            prepare_job(*memory_movie(std::move(block), "crowd.tif"), drawn_camera(), drawn_options());
        EXPECT_LE(job.options.fit.psf_misfit, default_misfit) << spots;
        EXPECT_EQ(width_advice(job.lone, job.options.psf), "") << spots;
    }
}

TEST(LoneSpots, that_are_wider_say_by_how_much) {
    const auto movie = grid_movie(143);
    const LocalizeJob job = prepare_job(*movie, drawn_camera(), drawn_options());
    EXPECT_NEAR(job.lone.width_nm, 143, 5 * job.lone.width_error_nm);
    EXPECT_NEAR(job.options.fit.psf_misfit, 0.1, 5 * job.lone.width_error_nm / 130);
    const std::string advice = width_advice(job.lone, job.options.psf);
    EXPECT_NE(advice.find("10 % more than the 130 nm used: `sigma=143nm`"), std::string::npos) << advice;
    // With this misfit, no rings of molecules are found.
    const Localizations rows = localize_frames(*movie, drawn_camera(), drawn_options());
    EXPECT_NEAR(double(rows.size()), 16.0 * frames, 3);
    LocalizeOptions blind = drawn_options();
    blind.fit.psf_misfit = 0;
    EXPECT_GT(double(localize_frames(*movie, drawn_camera(), blind).size()), 1.2 * 16 * frames);
}

TEST(LoneSpots, that_are_wider_are_reported_whatever_is_asked_of_the_misfit) {
    const auto movie = grid_movie(130);
    LocalizeOptions given = drawn_options(), one = drawn_options();
    given.fit.psf_misfit = 0.05, one.fit.emitters = 1;
    for (LocalizeOptions wrong : {given, one}) {
        const double misfit = prepare_job(*movie, drawn_camera(), wrong).options.fit.psf_misfit;
        EXPECT_EQ(misfit, 0.05) << "as given, or the usual one";
        wrong.psf.sigma_nm = 90;
        std::vector<std::string> warnings;
        wrong.warn = [&](const std::string& warning) { warnings.push_back(warning); };
        LocalizeResult result;
        localize_frames(*movie, drawn_camera(), wrong, &result);
        ASSERT_GE(warnings.size(), 1U) << "the first; another is of p values, which the wrong width makes small";
        EXPECT_NE(warnings[0].find("44 % more than the 90 nm used: `sigma=130nm`"), std::string::npos) << warnings[0];
        EXPECT_NEAR(result.lone.width_nm, 130, 5 * result.lone.width_error_nm);
    }
}

TEST(LoneSpots, bound_free_widths_where_molecules_overlap) {
    const auto movie = grid_movie(130);
    for (const PsfModel model : {PsfModel::GaussianXYNBS, PsfModel::GaussianXYNBSXSY}) {
        LocalizeOptions free = drawn_options();
        free.psf.model = model;
        const LoneSpots lone = prepare_job(*movie, drawn_camera(), free).lone;
        EXPECT_GE(lone.count, 140);
        // From 1,000 photons on, the width of one axis is known to 1 / sqrt(2 * 1,000) or better.
        EXPECT_NEAR(lone.width_nm, 130, 130 * 0.0224);
        EXPECT_GT(lone.max_width_nm, 130);
        EXPECT_LT(lone.max_width_nm, 130 * (1 + 6 * 0.0224));
        EXPECT_LE(lone.min_width_nm, 0.75 * lone.width_nm * 1.01);
        EXPECT_GT(lone.min_width_nm, 0.65 * lone.width_nm);
        free.fit.psf_misfit = 0.07;
        const LoneSpots given = prepare_job(*movie, drawn_camera(), free).lone;
        EXPECT_EQ(given.psf_misfit, 0.07);
        EXPECT_EQ(given.max_width_nm, lone.max_width_nm) << "also where the misfit is not learnt";
    }
    EXPECT_EQ(prepare_job(*movie, drawn_camera(), drawn_options()).lone.max_width_nm, 0) << "a given width is not free";
}

// Half of the lone spots are wide, more than could be pairs. A bound near the narrow width would split each wide
// molecule into two.
TEST(LoneSpots, that_are_of_two_widths_let_free_widths_reach_both) {
    const auto movie = grid_movie(110, 180);
    LocalizeOptions free = drawn_options();
    free.psf.model = PsfModel::GaussianXYNBS, free.psf.sigma_nm = 110;
    const LocalizeJob job = prepare_job(*movie, drawn_camera(), free);
    EXPECT_GT(job.lone.max_width_nm, 180);
    EXPECT_LT(job.lone.min_width_nm, 110);
    const std::size_t rows = localize_frames(*movie, drawn_camera(), free).size();
    constexpr std::size_t molecules = frames * (edge / apart) * (edge / apart);
    EXPECT_LE(rows, molecules + molecules / 100) << "more where wide ones become two";
    EXPECT_GE(rows, molecules - molecules / 100);
}

// A run resumed after a stop must estimate the same values.
TEST(LoneSpots, say_the_same_after_a_stop) {
    const auto movie = grid_movie(0.138);
    LocalizeOptions stopped = drawn_options();
    const StopFlag stop{true};
    stopped.stop = &stop;
    const LocalizeJob job = prepare_job(*movie, drawn_camera(), drawn_options()),
                      again = prepare_job(*movie, drawn_camera(), stopped);
    EXPECT_EQ(job.options.fit.psf_misfit, again.options.fit.psf_misfit);
    EXPECT_GT(job.options.fit.psf_misfit, 0.03);
}

TEST(LoneSpots, that_are_too_few_leave_the_usual_misfit) {
    const auto movie = grid_movie(130);
    LocalizeOptions one = drawn_options();
    one.frames = {0, 1};
    const LocalizeJob job = prepare_job(*movie, drawn_camera(), one);
    EXPECT_EQ(job.lone.count, 0);
    EXPECT_EQ(job.lone.found, 16);
    EXPECT_EQ(job.options.fit.psf_misfit, default_misfit);
    LocalizeOptions given = drawn_options();
    given.fit.psf_misfit = 0.07;
    EXPECT_EQ(prepare_job(*movie, drawn_camera(), given).options.fit.psf_misfit, 0.07);
}

}  // namespace glint
