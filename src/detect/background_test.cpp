// The background: right in the presence of spots, however bright, and along slopes.
// SPDX-License-Identifier: MIT
#include "detect/background.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/noise_frames.hpp"

using namespace glint;
using namespace glint::test;

namespace {

double mean_variance(const Background& background, int width, int height) {
    double sum = 0;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) sum += background.variance_at(x, y);
    return sum / (double(width) * height);
}

}  // namespace

TEST(Background, is_the_mean_of_an_empty_frame) {
    const int size = 128;
    for (double level : {0.2, 1.0, 20.0, 500.0}) {
        const CameraView view(camera_of(1), size, size);
        Background background(view, 1.3);
        background.measure(expose(Scene(size, size, level), 1, 3).data());
        // Its own error, and a thousandth of the noise for the upper tail that the clipping takes.
        const double sigma = std::sqrt(level + 1);
        EXPECT_NEAR(mean_variance(background, size, size), level + 1, 4 * sigma / size + 0.01 * sigma) << level;
    }
}

TEST(Background, ignores_spots_that_cover_a_third_of_the_frame) {
    const int size = 96;
    for (double photons : {300.0, 3000.0, 1e6}) {
        Scene scene(size, size, 20);
        for (int y = 4; y < size; y += 9)
            for (int x = 4; x < size; x += 9) scene.add_spot(x, y, 1.1, photons);
        const CameraView view(camera_of(2), size, size);
        Background background(view, 1.1);
        background.measure(expose(scene, 2, 4).data());
        EXPECT_NEAR(std::sqrt(mean_variance(background, size, size)), std::sqrt(22.0), 0.12 * std::sqrt(22.0))
            << photons;
    }
}

TEST(Background, follows_a_slope_without_steps) {
    const int width = 100, height = 70;
    Scene scene(width, height, 0);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) scene.mean[std::size_t(y) * width + x] = 100 + 3 * x + y;
    const CameraView view(camera_of(0), width, height);
    Background background(view, 1.3);
    background.measure(expose(scene, 0, 5).data());
    std::vector<float> row(std::size_t(width), 0);
    for (int y = 8; y < height - 14; ++y) {
        background.shot_noise_row(y, row.data());
        for (int x = 8; x < width - 18; ++x)
            EXPECT_NEAR(row[std::size_t(x)], 100 + 3 * x + y, 0.06 * (100 + 3 * x + y));
    }
}

TEST(Background, a_map_with_hot_pixels_changes_nothing) {
    const int size = 64;
    Camera camera = mapped(camera_of(2), size, size);
    std::vector<float> frame = expose(Scene(size, size, 10), 2, 6);
    Random random(7, Stream::frame_noise, 1);
    for (std::size_t k = 5; k < frame.size(); k += 50) {
        camera.readnoise_e.map[k] = 30;
        frame[k] += float(30 * random.normal());
    }
    const CameraView view(camera, size, size);
    Background background(view, 1.3);
    background.measure(frame.data());
    std::vector<float> row(std::size_t(size), 0);
    background.shot_noise_row(20, row.data());
    for (float level : row) EXPECT_NEAR(level, 10, 2);
}
