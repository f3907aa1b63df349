// Tests of the background: correct with spots of any brightness, and on slopes.
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
    const int size = 128, frames = 50;
    for (double level : {0.2, 1.0, 20.0, 500.0}) {
        const CameraView view(make_camera(1), size, size);
        Background background(view, MatchedFilter{1.3});
        double mean = 0;
        for (int k = 0; k < frames; ++k) {
            background.measure(expose(Scene(size, size, level), 1, std::uint64_t(3 + k)).data());
            mean += mean_variance(background, size, size) / frames;
        }
        // The statistical error, and the clipped tail above 3 sigma. The tail lowers the background by 0.44 % of the
        // noise, or by less with few photons (docs/explanation/theory.md, section 5).
        const double sigma = std::sqrt(level + 1), error = 4 * sigma / (size * std::sqrt(frames));
        EXPECT_LT(mean, level + 1 + error) << level;
        EXPECT_GT(mean, level + 1 - 0.005 * sigma - error) << level;
    }
}

TEST(Background, ignores_spots_that_cover_a_third_of_the_frame) {
    const int size = 96;
    for (double photons : {300.0, 3000.0, 1e6}) {
        Scene scene(size, size, 20);
        for (int y = 4; y < size; y += 9)
            for (int x = 4; x < size; x += 9) scene.add_spot(x, y, 1.1, photons);
        const CameraView view(make_camera(2), size, size);
        Background background(view, MatchedFilter{1.1});
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
    const CameraView view(make_camera(0), width, height);
    Background background(view, MatchedFilter{1.3});
    background.measure(expose(scene, 0, 5).data());
    std::vector<float> row(std::size_t(width), 0);
    // The 256 pixels of a tile measure 100 e- to within 0.6 %. Two tiles 16 px apart measure the slope to within 0.12
    // e-/px.
    for (int y = 8; y < height - 14; ++y) {
        background.shot_noise_row(y, row.data());
        for (int x = 8; x < width - 18; ++x) {
            EXPECT_NEAR(row[std::size_t(x)], 100 + 3 * x + y, 0.03 * (100 + 3 * x + y));
            EXPECT_NEAR(row[std::size_t(x) + 1] - row[std::size_t(x)], 3, 4 * 0.12);
        }
    }
}

TEST(Background, a_map_with_hot_pixels_changes_nothing) {
    const int size = 64, frames = 100;
    Camera camera = mapped(make_camera(2), size, size);
    for (std::size_t k = 5; k < camera.readnoise_e.map.size(); k += 50) camera.readnoise_e.map[k] = 30;
    const CameraView view(camera, size, size);
    Background background(view, MatchedFilter{1.3});
    std::vector<float> row(std::size_t(size), 0);
    double mean = 0;
    for (int k = 0; k < frames; ++k) {
        std::vector<float> frame = expose(Scene(size, size, 10), 2, std::uint64_t(6 + k));
        Random random(7, Stream::frame_noise, std::uint64_t(1 + k));
        for (std::size_t p = 5; p < frame.size(); p += 50) frame[p] += float(30 * random.normal());
        background.measure(frame.data());
        background.shot_noise_row(20, row.data());
        for (float level : row) mean += level / (double(size) * frames);
    }
    // The standard error of at least four tiles of 256 pixels, of which 5 are hot. Without the map, the hot pixels
    // would be cut above 3 sigma of the others, which would cost 0.2. The clipped tail costs 0.44 % of the noise.
    const double error = std::sqrt(251 * 12.0 + 5 * 912.0) / 256 / std::sqrt(4.0 * frames);
    EXPECT_NEAR(mean, 10, 4 * error + 0.005 * std::sqrt(12));
}
