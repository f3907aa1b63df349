// Tests of the noise check: 1 with correct camera parameters, a warning with wrong ones, no result without information.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>

#include "glint/detect.hpp"
#include "tests/noise_frames.hpp"

using namespace glint;
using namespace glint::test;

namespace {

double spread_of(const std::vector<float>& frame, int size, const Camera& camera) {
    const CameraView view(camera, size, size);
    Detector detector(view, {1.3, 0});
    Spots spots;
    detector.find(frame, spots);
    return detector.noise_check();
}

std::string verdict(double spread) { return camera_contradiction(std::vector<double>{spread, 0, spread}); }

/// A crowded scene with a background that varies by a factor of three, like a real movie.
Scene crowded(int size) {
    Scene scene(size, size, 0);
    for (int y = 0; y < size; ++y)
        for (int x = 0; x < size; ++x)
            scene.mean[std::size_t(y) * size + x] = 40 + 20 * std::sin(x / 5.0) + 20 * std::cos(y / 7.0 + x / 11.0) + 1;
    Random random(1, Stream::molecule, 0);
    for (int k = 0; k < size * size / 60; ++k)
        scene.add_spot(random.uniform(0, size), random.uniform(0, size), 1.3, random.uniform(50, 1500));
    return scene;
}

}  // namespace

TEST(EmptyNoise, is_one_when_the_camera_is_right) {
    const int size = 256;
    for (const auto& [background, variance] : {std::pair{0.2, 0.0}, {1.0, 2.0}, {20.0, 0.0}, {500.0, 300.0}})
        for (CameraKind kind : {CameraKind::Ideal, CameraKind::EMCCD}) {
            const auto frame = expose(Scene(size, size, background), variance, 41, kind);
            // About 1,000 samples. Squares of few photons vary more than those of a normal distribution.
            const double excess = (kind == CameraKind::EMCCD ? 2.5 : 0.25) / std::max(background, 0.2);
            const double error = 4 * std::sqrt((2 + excess) / 1000) / 2;
            EXPECT_NEAR(spread_of(frame, size, make_camera(variance, kind)), 1, error + 0.03) << background;
        }
}

TEST(EmptyNoise, a_crowded_movie_on_a_wavy_background_is_no_contradiction) {
    const int size = 128;
    for (double variance : {0.0, 4.0}) {
        const double spread = spread_of(expose(crowded(size), variance, 42), size, make_camera(variance));
        EXPECT_NEAR(spread, 1, 0.12);
        EXPECT_EQ(verdict(spread), "");
    }
}

TEST(EmptyNoise, an_emccd_taken_for_an_ideal_camera_shows) {
    const int size = 128;
    const double spread = spread_of(expose(crowded(size), 1, 43, CameraKind::EMCCD), size, make_camera(1));
    EXPECT_NEAR(spread, std::sqrt(2.0), 0.15);
    EXPECT_NE(verdict(spread).find("EMCCD"), std::string::npos);
}

TEST(EmptyNoise, a_wrong_gain_shows_with_its_direction) {
    const int size = 128;
    auto frame = expose(Scene(size, size, 50), 0, 44);
    for (float& e : frame) e *= 3;  // the gain in e-/ADU was given three times too large
    const double too_large = spread_of(frame, size, make_camera(0));
    EXPECT_NEAR(too_large, std::sqrt(3.0), 0.2);
    EXPECT_NE(verdict(too_large).find("gain (e-/ADU) too large"), std::string::npos);
    for (float& e : frame) e /= 9;
    const double too_small = spread_of(frame, size, make_camera(0));
    EXPECT_NEAR(too_small, std::sqrt(1 / 3.0), 0.06);
    EXPECT_NE(verdict(too_small).find("gain (e-/ADU) too small"), std::string::npos);
}

TEST(EmptyNoise, a_camera_noisier_than_its_model_does_not_fill_the_frame_with_spots) {
    const int size = 256;
    Scene scene(size, size, 50);
    for (int k = 0; k < 10; ++k) scene.add_spot(20 + 22 * k, 125, 1.3, 3000);
    auto frame = expose(scene, 0, 45);
    for (float& e : frame) e *= 6;
    const CameraView view(make_camera(0), size, size);
    Detector detector(view, {});
    Spots spots;
    detector.find(frame, spots);
    EXPECT_GE(spots.count(), 10u);
    EXPECT_LE(spots.count(), 12u);
}

// A missing EM gain of 300, with 15.6 e-/ADU: sqrt(2 * 300). The reciprocal gain would leave 1.57.
TEST(EmptyNoise, a_forgotten_EM_register_is_not_taken_for_a_gain_upside_down_alone) {
    Camera camera;
    camera.gain_e_per_adu.scalar = 15.6f;
    const std::string told = camera_contradiction(std::vector<double>(100, std::sqrt(600.0)), &camera, 20);
    EXPECT_NE(told.find("or is this an EMCCD whose EM gain is not given?"), std::string::npos) << told;
}

TEST(EmptyNoise, says_nothing_without_information) {
    EXPECT_EQ(camera_contradiction({}), "");
    EXPECT_EQ(camera_contradiction(std::vector<double>{0, 0, 0}), "");
    EXPECT_EQ(spread_of(expose(Scene(8, 8, 5), 1, 46), 8, make_camera(1)), 0);  // too few pixels for a result
}
