// Tests of the PSF that is estimated from a movie's lone spots.
// SPDX-License-Identifier: MIT
#include "glint/estimate_psf.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "glint/error.hpp"
#include "glint/fit.hpp"
#include "psf/in_double.hpp"
#include "tests/drawn_movie.hpp"
#include "tests/expect_error.hpp"

namespace glint {
namespace {

using namespace test;

constexpr double pixel_nm = 100, movie_background = 10;
constexpr int movie_edge = 128, grid_px = 32, movie_frames = 40;  // 16 spots in a frame

/// The share of light in the pixel at (u, v) from a molecule, px.
using ShareOfLight = std::function<double(double u, double v)>;

double gauss_in_pixel(double u, double sigma) {
    const double scale = std::sqrt(2) * sigma;
    return 0.5 * (std::erf((u + 0.5) / scale) - std::erf((u - 0.5) / scale));
}

/// A core and, asymmetrically beside it, a wide halo: 85 and 15 % of the light.
double haloed(double u, double v) {
    const auto both = [&](double sigma, double x, double y) {
        return gauss_in_pixel(u - x, sigma) * gauss_in_pixel(v - y, sigma);
    };
    return 0.85 * both(1.1, 0, 0) + 0.15 * both(2.6, 0.5, -0.4);
}

double round_gaussian(double u, double v) { return gauss_in_pixel(u, 1.3) * gauss_in_pixel(v, 1.3); }

/// A movie of lone molecules on a grid, each at a random position around its place there. `share_of`: the image of a
/// molecule, which may depend on its random depth from -1 to 1.
std::unique_ptr<Movie> lone_movie(const std::function<ShareOfLight(double depth)>& share_of, double photons,
                                  int count = movie_frames) {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> within(-4, 4), depth(-1, 1);
    return drawn_movie(count, movie_edge, random, [&](int) {
        std::vector<double> mu(std::size_t(movie_edge) * movie_edge, movie_background);
        for (int y = grid_px / 2; y < movie_edge; y += grid_px)
            for (int x = grid_px / 2; x < movie_edge; x += grid_px) {
                const double cx = x + within(random), cy = y + within(random);
                const ShareOfLight share = share_of(depth(random));
                for (int j = y - 16; j < y + 16; ++j)
                    for (int i = x - 16; i < x + 16; ++i)
                        mu[std::size_t(j * movie_edge + i)] += photons * share(i - cx, j - cy);
            }
        return mu;
    });
}

EstimatedPsf estimate(Movie& movie) { return estimate_psf(movie, drawn_camera(), {.pixel_size_nm = pixel_nm}); }

}  // namespace

TEST(EstimatePsf, describes_spots_that_no_gaussian_does) {
    const auto movie = lone_movie([](double) { return haloed; }, 5000);
    const EstimatedPsf found = estimate(*movie);
    EXPECT_EQ(found.roi_size, 25);
    EXPECT_GE(found.lone, 500) << "of 640";
    // The mean deviance of 128 spots with 620 degrees of freedom each has a standard error of 0.005.
    EXPECT_GT(found.gaussian.deviance, 1 + 8 * 0.005);
    EXPECT_LT(found.gaussian.good_p, found.psf.good_p);
    // A fifth of the lone spots was left out: 128. On average 1.3 have p < 0.01, and seven with a probability of 4e-4.
    EXPECT_GE(found.psf.good_p, 1 - 6.5 / 128);
    // The PSF's own noise adds its 3,249 coefficients over the 400 x 625 pixels that they are from.
    EXPECT_GT(found.psf.deviance, 1 - 4 * 0.005);
    EXPECT_LT(found.psf.deviance, 1 + 0.013 + 4 * 0.005);
    // The truth, about its own centroid of h^1.5, which is not (0, 0).
    const PsfInDouble psf(measured_psf(found.table), pixel_nm);
    const double theta[4] = {12, 12, 1, 0};
    std::vector<double> image(25 * 25, 0.0);
    psf.add_photons(theta, 0, 0, 25, 25, image.data());
    double best = 1;
    for (double x = -0.1; x <= 0.1; x += 0.005)
        for (double y = -0.1; y <= 0.1; y += 0.005) {
            double worst = 0;
            for (int j = 0; j < 25; ++j)
                for (int i = 0; i < 25; ++i)
                    worst = std::max(worst, std::abs(image[std::size_t(25 * j + i)] - haloed(i - 12 - x, j - 12 - y)));
            best = std::min(best, worst);
        }
    // 500 spots of 5,000 photons know the brightest pixels, which have a tenth of the light, to 0.2 % of their value
    // each: 2e-4 of the light. Fifteen times as much contains the positions' errors and the penalty.
    EXPECT_LT(best, 3e-3);
    EXPECT_LT(std::abs(found.outside), 0.02) << "all light is inside";
    EXPECT_TRUE(found.warnings.empty()) << found.warnings.front();
}

TEST(EstimatePsf, finds_all_photons_and_honest_errors) {
    const auto movie = lone_movie([](double) { return haloed; }, 5000);
    const Psf psf = measured_psf(estimate(*movie).table);
    std::mt19937 random(8);
    Rois rois;
    rois.size = 11;
    std::vector<double> x, y;
    constexpr int spots = 1000;
    for (int k = 0; k < spots; ++k) {
        std::uniform_real_distribution<double> within(-0.5, 0.5);
        x.push_back(5 + within(random)), y.push_back(5 + within(random));
        for (int j = 0; j < 11; ++j)
            for (int i = 0; i < 11; ++i)
                rois.pixels.push_back(float(std::poisson_distribution<int>(
                    movie_background + 2000 * haloed(i - x.back(), j - y.back()))(random)));
    }
    FitOptions options;
    options.backend = Backend::cpu;
    const Fits fits = fit(rois, psf, pixel_nm, options);
    double photons = 0, squares_x = 0, mean_x = 0, bound = 0;
    for (int k = 0; k < spots; ++k) {
        ASSERT_EQ(fits.status[std::size_t(k)], FitStatus::converged);
        photons += double(fits.theta[2][std::size_t(k)]) / spots;
        mean_x += (double(fits.theta[0][std::size_t(k)]) - x[std::size_t(k)]) / spots;
        bound += std::pow(double(fits.crlb[0][std::size_t(k)]), 2) / spots;
    }
    for (int k = 0; k < spots; ++k)
        squares_x += std::pow(double(fits.theta[0][std::size_t(k)]) - x[std::size_t(k)] - mean_x, 2) / spots;
    // A background is free, so a halo that the window cuts is not seen well; the photons' own standard error is .3 %.
    EXPECT_NEAR(photons / 2000, 1, 0.02);
    // The standard deviation of 1,000 values has an error of 2.2 %; four of these, and 2 % by the PSF's own noise.
    EXPECT_NEAR(std::sqrt(squares_x / bound), 1, 0.11);
}

TEST(EstimatePsf, says_when_a_gaussian_suffices) {
    const auto movie = lone_movie([](double) { return round_gaussian; }, 1000);
    const EstimatedPsf found = estimate(*movie);
    ASSERT_EQ(found.warnings.size(), 1u);
    EXPECT_NE(found.warnings[0].find("a Gaussian of free width describes its spots as well"), std::string::npos);
    EXPECT_GE(found.psf.good_p, 1 - 6.5 / 128);
}

TEST(EstimatePsf, warns_if_molecules_lie_at_different_depths) {
    const auto by_depth = [](double depth) -> ShareOfLight {
        const double sx = 1.2 * std::hypot(1, depth - 0.5), sy = 1.2 * std::hypot(1, depth + 0.5);
        return [=](double u, double v) { return gauss_in_pixel(u, sx) * gauss_in_pixel(v, sy); };
    };
    const auto movie = lone_movie(by_depth, 5000);
    EstimatePsfOptions options{.pixel_size_nm = pixel_nm};
    options.sigma_nm = 140;
    const EstimatedPsf found = estimate_psf(*movie, drawn_camera(), options);
    ASSERT_FALSE(found.warnings.empty());
    EXPECT_NE(found.warnings.back().find("one PSF does not describe its spots"), std::string::npos);
}

TEST(EstimatePsf, refuses_what_it_cannot_estimate) {
    const auto few = lone_movie([](double) { return haloed; }, 5000, 10);
    expect_error<InputError>([&] { estimate(*few); }, {"160", "at least 300", "glint calibrate psf"});
    const auto movie = lone_movie([](double) { return haloed; }, 5000);
    expect_error<OptionError>([&] { estimate_psf(*movie, drawn_camera(), {.pixel_size_nm = 0.1}); }, {"pixel size"});
    expect_error<OptionError>(
        [&] { estimate_psf(*movie, drawn_camera(), {.pixel_size_nm = pixel_nm, .sigma_nm = 5000}); },
        {"5000 nm", "px"});
    StopFlag stop{true};
    EstimatePsfOptions stopped{.pixel_size_nm = pixel_nm};
    stopped.stop = &stop;
    EXPECT_THROW(estimate_psf(*movie, drawn_camera(), stopped), Cancelled);
}

TEST(EstimatePsf, does_not_depend_on_threads) {
    const auto movie = lone_movie([](double) { return haloed; }, 5000, 30);
    const std::uint64_t hash = estimate(*movie).table->hash();
    setenv("GLINT_THREADS", "1", 1);
    const std::uint64_t alone = estimate(*movie).table->hash();
    unsetenv("GLINT_THREADS");
    EXPECT_EQ(hash, alone);
}

}  // namespace glint
