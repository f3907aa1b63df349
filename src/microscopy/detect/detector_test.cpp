// Tests of the detector: detection rates, false positives, and degenerate frames.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "detect/filter.hpp"
#include "glint/detect.hpp"
#include "glint/error.hpp"
#include "tests/noise_frames.hpp"

using namespace glint;
using namespace glint::test;

namespace {

Spots spots_of(const std::vector<float>& frame, int width, int height, const Camera& camera,
               DetectOptions options = {}) {
    const CameraView view(camera, width, height);
    Detector detector(view, options);
    Spots spots;
    detector.find(frame, spots);
    return spots;
}

/// sigma(N) of a spot in an empty window with uniform noise, from the filter's own normalisation.
double sigma_of_photons(double sigma_px, double variance) {
    const Filter filter(MatchedFilter{sigma_px});
    const int size = 4 * filter.radius() + 1, middle = size / 2;
    return std::sqrt(variance) * double(EdgeNorms(filter, size, size).norm(middle)[middle]);
}

}  // namespace

TEST(Detector, finds_spots_with_the_probability_that_theory_gives) {
    const int size = 512, spacing = 16;
    const double background = 500, sigma_px = 1.3, threshold = 5;
    for (double k : {3.0, 6.5, 8.0}) {
        Scene scene(size, size, background);
        const double photons = k * sigma_of_photons(sigma_px, background);
        for (int y = 8; y < size; y += spacing)
            for (int x = 8; x < size; x += spacing) scene.add_spot(x, y, sigma_px, photons);
        const Spots spots = spots_of(expose(scene, 0, 21), size, size, make_camera(0), {{sigma_px}, threshold});
        double found = 0;
        for (std::size_t i = 0; i < spots.count(); ++i)
            found += std::abs(spots.x[i] % spacing - 8) <= 2 && std::abs(spots.y[i] % spacing - 8) <= 2;
        const double n = double(size / spacing) * (size / spacing);
        const double expected = 0.5 * std::erfc((threshold - k) / std::sqrt(2.0));
        // The maximum is not always at the spot's pixel, which changes the score by a few tenths.
        const double shifted = 0.5 * std::erfc((threshold - k + 0.4) / std::sqrt(2.0));
        const double error = 4 * std::sqrt(expected * (1 - expected) / n) + 4 / n;
        EXPECT_LE(found / n, expected + error) << k << " sigma";
        EXPECT_GE(found / n, shifted - error) << k << " sigma";
    }
}

TEST(Detector, finds_almost_nothing_in_empty_frames) {
    const int size = 512;
    for (const auto& [background, variance] : {std::array{1.0, 1.0}, {5.0, 2.0}, {20.0, 0.0}, {500.0, 300.0}}) {
        const Spots spots =
            spots_of(expose(Scene(size, size, background), variance, 22), size, size, make_camera(variance));
        EXPECT_LE(spots.count(), 5u) << background;  // fewer than 2 expected
    }
}

TEST(Detector, gives_one_spot_for_one_molecule_however_bright_and_orders_them) {
    const int size = 256;
    for (double photons : {1e3, 1e4, 1e6}) {
        Scene scene(size, size, 10);
        std::size_t n = 0;
        for (int y = 11; y < size - 8; y += 22)
            for (int x = 9; x < size - 8; x += 24, ++n)
                scene.add_spot(x + 0.37 * (y % 3), y + 0.21 * (x % 5), 1.3, photons);
        const Spots spots = spots_of(expose(scene, 2, 23), size, size, make_camera(2));
        EXPECT_EQ(spots.count(), n) << photons;
        for (std::size_t k = 1; k < spots.count(); ++k)
            EXPECT_LT(spots.y[k - 1] * size + spots.x[k - 1], spots.y[k] * size + spots.x[k]);
        for (float score : spots.score) EXPECT_GE(score, 5);
    }
}

TEST(Detector, parts_two_molecules_that_the_spot_itself_would_blur_together) {
    Scene scene(64, 64, 20);
    scene.add_spot(30, 30, 1.3, 5000);
    scene.add_spot(34, 30, 1.3, 5000);
    EXPECT_EQ(spots_of(expose(scene, 0, 24), 64, 64, make_camera(0)).count(), 2u);
}

TEST(Detector, finds_spots_at_edges_and_in_corners) {
    Scene scene(40, 30, 10);
    for (double x : {0.0, 20.0, 39.0})
        for (double y : {0.0, 29.0}) scene.add_spot(x, y, 1.3, 2000);
    const Spots spots = spots_of(expose(scene, 1, 25), 40, 30, make_camera(1));
    ASSERT_EQ(spots.count(), 6u);
    for (std::size_t k = 0; k < 6; ++k) {
        EXPECT_NEAR(spots.x[k], 20 * int(k % 3), 1);
        EXPECT_NEAR(spots.y[k], 29 * int(k / 3), 1);
    }
}

TEST(Detector, sees_through_the_hot_pixels_of_a_map) {
    const int size = 128;
    Camera camera = mapped(make_camera(2), size, size);
    Scene scene(size, size, 10);
    scene.add_spot(60, 60, 1.3, 800);
    std::vector<float> frame = expose(scene, 2, 26);
    Random random(9, Stream::frame_noise, 1);
    for (std::size_t k = 7; k < frame.size(); k += 97) {
        camera.readnoise_e.map[k] = 40;
        frame[k] += float(40 * random.normal());
    }
    EXPECT_EQ(spots_of(frame, size, size, camera).count(), 1u);
    EXPECT_GT(spots_of(frame, size, size, make_camera(2)).count(), 10u);  // like the same movie without its map
}

// As in a movie that was rotated and shifted: NaN pixels count like those beyond the frame's edge.
TEST(Detector, missing_pixels_make_no_spots_and_lose_none) {
    const int size = 256, spacing = 16;
    const double background = 100;
    Scene scene(size, size, background);
    for (int y = 8; y < size; y += spacing)
        for (int x = 8; x < size; x += spacing) scene.add_spot(x, y, 1.3, 20 * sigma_of_photons(1.3, background));
    const auto is_missing = [](int x, int y) { return x < 40 || y < 0.1 * x || (x > 200 && y > 220); };
    std::vector<float> frame = expose(scene, 2, 30), empty = expose(Scene(size, size, background), 2, 31);
    std::size_t there = 0;
    for (int y = 0; y < size; ++y)
        for (int x = 0; x < size; ++x) {
            if (is_missing(x, y)) frame[y * size + x] = empty[y * size + x] = NAN;
            there += x % spacing == 8 && y % spacing == 8 && !is_missing(x, y);
        }
    for (const Camera& camera : {make_camera(2), mapped(make_camera(2), size, size)}) {
        const Spots spots = spots_of(frame, size, size, camera);
        std::size_t found = 0, at_edge = 0;
        for (std::size_t k = 0; k < spots.count(); ++k) {
            const int x = spots.x[k], y = spots.y[k];
            EXPECT_FALSE(is_missing(x, y)) << x << ' ' << y;
            const int x_true = x / spacing * spacing + 8, y_true = y / spacing * spacing + 8;
            const bool is_there = std::abs(x - x_true) <= 1 && std::abs(y - y_true) <= 1;
            found += is_there && !is_missing(x_true, y_true);
            // Accepts the light of a molecule beyond the edge.
            at_edge += std::abs(x - x_true) <= 4 && std::abs(y - y_true) <= 4 && is_missing(x_true, y_true);
        }
        EXPECT_EQ(found, there);
        EXPECT_LE(spots.count() - found - at_edge, 1u);
        EXPECT_LE(spots_of(empty, size, size, camera).count(), 1u);
        const CameraView view(camera, size, size);
        Detector detector(view, {});
        Spots in_empty, after;
        detector.find(empty, in_empty);
        EXPECT_NEAR(detector.noise_check(), 1, 0.1);
        detector.find(expose(scene, 2, 30), after);  // a frame without missing pixels, after one with them
        EXPECT_EQ(after.score, spots_of(expose(scene, 2, 30), size, size, camera).score);
    }
}

TEST(Detector, a_frame_of_missing_pixels_holds_nothing) {
    for (const std::size_t left : {std::size_t(0), std::size_t(1), std::size_t(20)}) {
        std::vector<float> frame(64 * 64, NAN);
        for (std::size_t k = 0; k < left; ++k) frame[64 * 20 + 20 + k] = float(5 + 7 * (k % 3));
        const CameraView view(make_camera(1), 64, 64);
        Detector detector(view, {});
        Spots spots;
        detector.find(frame, spots);
        EXPECT_EQ(spots.count(), 0u);
        EXPECT_EQ(detector.noise_check(), 0);
    }
}

TEST(Detector, a_frame_depends_on_itself_alone) {
    const int width = 90, height = 70;
    Scene scene(width, height, 5);
    for (int k = 0; k < 12; ++k) scene.add_spot(5 + 7 * k, 3 + 5 * k, 1.3, 500);
    const auto frame = expose(scene, 1, 27), other = expose(Scene(width, height, 900), 1, 28);
    for (const Camera& camera : {make_camera(1), mapped(make_camera(1), width, height)}) {
        const CameraView view(camera, width, height);
        Detector detector(view, {});
        Spots first, between, again;
        detector.find(frame, first);
        detector.find(other, between);
        detector.find(frame, again);
        EXPECT_GT(first.count(), 8u);
        EXPECT_EQ(first.x, again.x);
        EXPECT_EQ(first.y, again.y);
        EXPECT_EQ(first.score, again.score);
    }
}

TEST(Detector, a_constant_frame_of_any_shape_holds_no_spot_and_no_information) {
    for (const auto& [width, height] : {std::pair{64, 64}, {1, 1}, {1, 50}, {50, 1}, {3, 3}, {2, 40}, {7, 5}, {200, 3}})
        for (float level : {0.0f, 3.0f, 65535.0f, -12.0f})
            for (const Camera& camera : {make_camera(0), make_camera(4), mapped(make_camera(4), width, height)}) {
                const CameraView view(camera, width, height);
                Detector detector(view, {2.0, 0});
                Spots spots;
                detector.find(std::vector<float>(std::size_t(width) * height, level), spots);
                EXPECT_EQ(spots.count(), 0u) << width << "x" << height << " at " << level;
                EXPECT_EQ(detector.noise_check(), 0);
            }
}

TEST(Detector, finds_a_spot_in_frames_smaller_than_its_window) {
    for (const auto& [width, height] : {std::pair{6, 6}, {5, 40}, {40, 5}}) {
        Scene scene(width, height, 5);
        scene.add_spot(width / 2, height / 2, 1.3, 3000);
        EXPECT_EQ(spots_of(expose(scene, 1, 29), width, height, make_camera(1)).count(), 1u) << width << "x" << height;
    }
}

TEST(Detector, a_saturated_plateau_is_one_spot_at_most) {
    const int size = 80;
    for (double radius : {1.0, 2.0, 3.0, 4.5, 6.0, 9.0, 14.0})
        for (double aspect : {1.0, 1.7}) {
            std::vector<float> frame = expose(Scene(size, size, 10), 1, 30);
            for (int y = 0; y < size; ++y)
                for (int x = 0; x < size; ++x)
                    if (std::hypot((x - 40) / aspect, y - 40.0) <= radius) frame[std::size_t(y) * size + x] = 60000;
            const std::size_t count = spots_of(frame, size, size, make_camera(1)).count();
            EXPECT_LE(count, 1u) << "radius " << radius << ", aspect " << aspect;
            if (radius <= 3) {
                EXPECT_EQ(count, 1u) << "radius " << radius << ", aspect " << aspect;
            }
        }
}

TEST(Detector, huge_and_negative_values_stay_harmless) {
    std::vector<float> frame(64 * 64, 1e38f);
    frame[70] = -1e38f;
    frame[900] = std::numeric_limits<float>::max();
    const CameraView view(make_camera(1), 64, 64);
    Detector detector(view, {});
    Spots spots;
    detector.find(frame, spots);
    for (float score : spots.score) EXPECT_GE(score, 5);
    EXPECT_TRUE(std::isfinite(detector.noise_check()));
}

TEST(Detector, threshold_is_five_or_six_behind_an_em_register) {
    for (CameraKind kind : {CameraKind::Ideal, CameraKind::EMCCD}) {
        const double default_threshold = kind == CameraKind::EMCCD ? 6 : 5;
        Scene scene(256, 256, 20);
        for (int y = 8; y < 256; y += 16)
            for (int x = 8; x < 256; x += 16) scene.add_spot(x, y, 1.3, kind == CameraKind::EMCCD ? 190 : 110);
        const auto frame = expose(scene, 1, 31, kind);
        const Spots by_default = spots_of(frame, 256, 256, make_camera(1, kind));
        EXPECT_GT(by_default.count(), 50u);
        EXPECT_EQ(by_default.x, spots_of(frame, 256, 256, make_camera(1, kind), {1.3, default_threshold}).x);
        EXPECT_LT(by_default.count(),
                  spots_of(frame, 256, 256, make_camera(1, kind), {1.3, default_threshold - 0.5}).count());
    }
}

TEST(Detector, refuses_options_and_frames_out_of_range) {
    const CameraView view(make_camera(1), 32, 32);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (double sigma : {0.0, 0.29, 8.1, -1.0, nan}) EXPECT_THROW(Detector(view, {sigma, 5}), OptionError) << sigma;
    for (double threshold : {-1.0, 0.5, 1001.0, nan})
        EXPECT_THROW(Detector(view, {1.3, threshold}), OptionError) << threshold;
    Detector detector(view, {});
    Spots spots;
    EXPECT_THROW(detector.find(std::vector<float>(31 * 32), spots), OptionError);
}
