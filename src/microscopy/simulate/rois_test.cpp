// Tests of simulated ROIs: mean and variance of their pixels, for each camera and model.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "glint/error.hpp"
#include "glint/simulate.hpp"
#include "simulate/exposure.hpp"
#include "tests/expect_error.hpp"

using namespace glint;

namespace {

using Truth = std::array<std::vector<float>, max_parameters>;
constexpr double pixel_nm = 100;
const Psf fixed{PsfModel::GaussianXYNB, 130, {}};

/// Returns the same molecule n times, so that a pixel has the same mean in all ROIs.
RoiSimulation same_molecule(std::size_t n) {
    return {.size = 9, .count = n, .photons_min = 800, .photons_max = 800, .background = 6, .spread_px = 0, .seed = 3};
}

/// Checks each pixel's mean and variance over the ROIs against mean mu and variance F^2 mu + v.
void expect_pixels(const Rois& rois, const Psf& psf, double excess, double read_variance) {
    const std::size_t n = rois.count(), area = 81;
    std::vector<double> mean(area, 6.0);
    add_spot(make_spot(PsfInDouble(psf, pixel_nm), 4, 4, 0, 800), 9, 9, mean);
    for (std::size_t p = 0; p < area; ++p) {
        double sum = 0, squares = 0;
        for (std::size_t k = 0; k < n; ++k) {
            const double d = rois.pixels[k * area + p] - mean[p];
            sum += d, squares += d * d;
        }
        const double variance = excess * mean[p] + read_variance;
        EXPECT_NEAR(sum / double(n), 0, 4.5 * std::sqrt(variance / double(n))) << p;
        EXPECT_NEAR(squares / double(n), variance, 5 * variance * std::sqrt(3.0 / double(n))) << p;
    }
}

Spot gaussian(double x, double y, double photons, double sigma_x, double sigma_y) {
    return {x, y, photons, PsfInDouble({PsfModel::GaussianXYNBSXSY, 100, {}, {}}, 100), {sigma_x, sigma_y}};
}

}  // namespace

TEST(SimulateSpot, holds_all_its_photons_wherever_it_lies) {
    for (double x : {30.0, 30.3, 30.5, 30.9}) {
        std::vector<double> image(61 * 61, 0.0);
        add_spot(gaussian(x, 29.7, 1234, 1.3, 2.1), 61, 61, image);
        EXPECT_NEAR(std::accumulate(image.begin(), image.end(), 0.0), 1234, 1e-5);
        double moment = 0;
        for (int k = 0; k < 61 * 61; ++k) moment += image[k] * (k % 61 - x) * (k % 61 - x);
        EXPECT_NEAR(moment / 1234, 1.3 * 1.3 + 1.0 / 12, 1e-5) << "a pixel adds its own variance of 1/12";
    }
}

TEST(SimulateSpot, outside_the_image_does_nothing) {
    std::vector<double> image(25, 0.0);
    for (double far : {-1e3, 1e3, -1e18, 1e18}) add_spot(gaussian(far, 2, 100, 1, 1), 5, 5, image);
    for (double value : image) EXPECT_EQ(value, 0);
}

TEST(SimulateSpot, one_pixel_agrees_with_numerical_integration) {
    std::vector<double> image(49, 0.0);
    add_spot(gaussian(3.2, 2.9, 1, 1.1, 0.8), 7, 7, image);
    const int n = 400;
    double sum = 0;
    for (int a = 0; a < n; ++a)
        for (int b = 0; b < n; ++b) {
            const double x = 3.5 + (a + 0.5) / n - 3.2, y = 1.5 + (b + 0.5) / n - 2.9;
            sum += std::exp(-x * x / (2 * 1.1 * 1.1) - y * y / (2 * 0.8 * 0.8));
        }
    EXPECT_NEAR(image[2 * 7 + 4], sum / n / n / (2 * M_PI * 1.1 * 0.8), 1e-7);
}

TEST(SimulateRois, pixels_have_the_mean_and_variance_of_each_camera) {
    Truth truth;
    Camera camera;
    expect_pixels(simulate_rois(same_molecule(4000), fixed, pixel_nm, camera, truth), fixed, 1, 0);
    camera.kind = CameraKind::SCMOS;
    camera.readnoise_e.scalar = 2;
    const Rois scmos = simulate_rois(same_molecule(4000), fixed, pixel_nm, camera, truth);
    EXPECT_FLOAT_EQ(scmos.variance_scalar, 4);
    expect_pixels(scmos, fixed, 1, 4);
    camera.kind = CameraKind::EMCCD;
    camera.em_gain = 100;
    camera.readnoise_e.scalar = 50;
    const Rois emccd = simulate_rois(same_molecule(4000), fixed, pixel_nm, camera, truth);
    EXPECT_FLOAT_EQ(emccd.excess_noise, 2);
    expect_pixels(emccd, fixed, 2, 0.25);
}

TEST(SimulateRois, maps_are_taken_from_all_over_the_sensor) {
    Camera camera;
    camera.sensor_width = 20, camera.sensor_height = 16;
    for (int k = 0; k < 20 * 16; ++k) camera.readnoise_e.map.push_back(0.01f * float(k));
    Truth truth;
    RoiSimulation options{.size = 5, .count = 3000, .seed = 2};
    const Rois rois = simulate_rois(options, fixed, pixel_nm, camera, truth);
    ASSERT_EQ(rois.variance.size(), rois.pixels.size());
    std::set<int> corners;
    for (std::size_t k = 0; k < rois.count(); ++k) {
        const int corner = int(std::lround(std::sqrt(rois.variance[k * 25]) / 0.01));
        corners.insert(corner);
        const double below_right = 0.01 * (corner + 4 * 20 + 4);
        EXPECT_NEAR(rois.variance[k * 25 + 24], below_right * below_right, 1e-4);
    }
    EXPECT_EQ(corners.size(), 16u * 12u) << "every place a 5x5 ROI can have";
}

TEST(SimulateRois, truth_has_the_order_of_fits) {
    Psf psf{PsfModel::GaussianXYNBSXSY, 150, {}};
    RoiSimulation options{.size = 8, .count = 500, .photons_min = 100, .photons_max = 900, .background = 2};
    Truth truth;
    simulate_rois(options, psf, pixel_nm, Camera{}, truth);
    for (int p = 0; p < 6; ++p) ASSERT_EQ(truth[p].size(), 500u);
    EXPECT_FLOAT_EQ(truth[4][0], 1.5f);
    EXPECT_FLOAT_EQ(truth[5][9], 1.5f);
    const auto [x_low, x_high] = std::minmax_element(truth[0].begin(), truth[0].end());
    EXPECT_NEAR(*x_low, 2.5, 0.05);
    EXPECT_NEAR(*x_high, 4.5, 0.05);
    psf = {PsfModel::AstigmaticXYZNB, 0, {.sx0_nm = 130, .sy0_nm = 130, .gamma_nm = 200, .d_nm = 400}};
    simulate_rois(options, psf, pixel_nm, Camera{}, truth);
    EXPECT_TRUE(truth[5].empty());
    EXPECT_NEAR(*std::max_element(truth[4].begin(), truth[4].end()), 0.4, 0.02);
}

TEST(SimulateRois, a_roi_does_not_depend_on_how_many_follow) {
    Truth few_truth, many_truth;
    RoiSimulation options{.size = 7, .count = 10};
    const Rois few = simulate_rois(options, fixed, pixel_nm, Camera{}, few_truth);
    options.count = 1000;
    const Rois many = simulate_rois(options, fixed, pixel_nm, Camera{}, many_truth);
    EXPECT_TRUE(std::equal(few.pixels.begin(), few.pixels.end(), many.pixels.begin()));
    options.seed = 2;
    EXPECT_NE(many.pixels, simulate_rois(options, fixed, pixel_nm, Camera{}, few_truth).pixels);
}

TEST(SimulateRois, refuses_what_makes_no_sense) {
    Truth truth;
    EXPECT_THROW(simulate_rois({.size = 2}, fixed, pixel_nm, {}, truth), OptionError);
    EXPECT_THROW(simulate_rois({.size = 32}, fixed, pixel_nm, {}, truth), OptionError);
    EXPECT_THROW(simulate_rois({.photons_min = 5, .photons_max = 4}, fixed, pixel_nm, {}, truth), OptionError);
    EXPECT_THROW(simulate_rois({.background = -1}, fixed, pixel_nm, {}, truth), OptionError);
    EXPECT_THROW(simulate_rois({.count = ~std::size_t{0}}, fixed, pixel_nm, {}, truth), OptionError);
    EXPECT_THROW(simulate_rois({.count = 1}, fixed, 0, {}, truth), OptionError);
    EXPECT_THROW(simulate_rois({.count = 1}, Psf{}, pixel_nm, {}, truth), OptionError);
    // Callers of old versions pass micrometres.
    test::expect_error<OptionError>([&] { simulate_rois({.count = 1}, fixed, 0.1, {}, truth); },
                                    {"0.1 nm", "nanometres, 1 to 100000", "`pixel_size=100nm`"});
    test::expect_error<OptionError>(
        [&] {
            simulate_rois({.count = 1}, {PsfModel::GaussianXYNB, 0.13, {}}, pixel_nm, {}, truth);
        },
        {"0.13 nm", "nanometres, at least 1", "`sigma=130nm`"});
    Camera small;
    small.sensor_width = small.sensor_height = 4;
    small.readnoise_e.map.assign(16, 1.0f);
    EXPECT_THROW(simulate_rois({.count = 1}, fixed, pixel_nm, small, truth), OptionError);
}
