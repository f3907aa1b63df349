// Defective pixels and saturation of simulated movies, with blinking molecules and steady beads.
// SPDX-License-Identifier: MIT
#include "detect/pixel_survey.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "tests/noise_frames.hpp"

using namespace glint;

namespace {

constexpr int width = 96, height = 80, frames = 40;

/// Returns whole counts of frames, each exposed from `scene_of(frame)`, modified by `change(frame, counts)` and limited
/// to `most`.
std::unique_ptr<Movie> movie(const std::function<test::Scene(int)>& scene_of,
                             const std::function<void(int, std::vector<float>&)>& change = {}, float most = 65535) {
    FrameBlock block{0, frames, width, height, PixelType::uint16, {}};
    block.bytes.resize(block.frame_bytes() * frames);
    for (int f = 0; f < frames; ++f) {
        std::vector<float> frame = test::expose(scene_of(f), 2, std::uint64_t(200 + f));
        for (float& e : frame) e += 100;
        if (change) change(f, frame);
        std::vector<std::uint16_t> counts;
        for (const float adu : frame) counts.push_back(std::uint16_t(std::lround(std::clamp(adu, 0.0f, most))));
        std::memcpy(block.bytes.data() + std::size_t(f) * block.frame_bytes(), counts.data(), block.frame_bytes());
    }
    return memory_movie(std::move(block));
}

Camera camera() {
    Camera camera = test::make_camera(2, CameraKind::SCMOS);
    camera.offset_adu.scalar = 100;
    return camera;
}

PixelSurvey survey(Movie& movie, int threads = 1) {
    return survey_pixels(movie, {0, frames}, CameraView(camera(), width, height), {1.3}, threads);
}

/// Molecules that are on in a tenth of the frames.
test::Scene blinking(int frame, double background) {
    test::Scene scene(width, height, background);
    Random random(std::uint64_t(7 + frame), Stream::place, 0);
    for (int k = 0; k < 12; ++k)
        scene.add_spot(width * random.uniform(), height * random.uniform(), 1.3, 300 + 3000 * random.uniform());
    return scene;
}

std::uint32_t at(int x, int y) { return std::uint32_t(y * width + x); }

}  // namespace

TEST(PixelSurvey, finds_hot_and_dead_pixels_and_no_others) {
    // Hot: two that touch, one in a corner, a column of three, one beside a bead. Dead: without light, or with half of
    // it.
    const std::vector<std::uint32_t> hot{at(0, 0),   at(10, 10), at(11, 10), at(40, 20),
                                         at(40, 21), at(40, 22), at(64, 50)},
        dead{at(70, 20), at(71, 60)};
    const auto scene_of = [](int f) {
        test::Scene scene = blinking(f, 40);
        scene.add_spot(60.2, 49.7, 1.3, 4000);  // always on
        return scene;
    };
    const auto change = [&](int f, std::vector<float>& adu) {
        for (const std::uint32_t k : hot)
            if (f % 5 != 0) adu[k] += 40 + float(k % 7) * 100;  // off in a fifth of the frames
        for (const std::uint32_t k : dead) adu[k] = 100 + (adu[k] - 100) * (k == dead[0] ? 0.0f : 0.3f);
    };
    const auto with = movie(scene_of, change);
    std::vector<std::uint32_t> expected = hot;
    expected.insert(expected.end(), dead.begin(), dead.end());
    std::sort(expected.begin(), expected.end());
    const PixelSurvey found = survey(*with);
    EXPECT_EQ(found.frames, 32);
    EXPECT_EQ(found.defective, expected);
    EXPECT_EQ(found.saturation_adu, 0);
    EXPECT_EQ(survey(*with, 4).defective, found.defective);
    EXPECT_TRUE(survey(*movie(scene_of)).defective.empty());
}

TEST(PixelSurvey, mistakes_no_light_of_a_lens_for_a_defect) {
    for (const double sigma_px : {0.8, 1.0, 1.3, 2.0})
        for (const double background : {0.2, 3.0, 100.0}) {
            const auto scene_of = [&](int) {
                test::Scene scene(width, height, background);
                int n = 0;
                for (int y = 8; y < height - 8; y += 16)
                    for (int x = 8; x < width - 8; x += 16, ++n)
                        scene.add_spot(x + 0.1 * (n % 10), y + 0.1 * (n / 3 % 10), sigma_px, 300 * std::pow(2, n % 9));
                return scene;
            };
            EXPECT_TRUE(survey(*movie(scene_of)).defective.empty()) << sigma_px << " px on " << background;
        }
}

TEST(PixelSurvey, says_when_too_many_pixels_stand_out) {
    const auto with = movie([](int) { return test::Scene(width, height, 20); },
                            [](int, std::vector<float>& adu) {
                                for (std::size_t k = 0; k < adu.size(); ++k)
                                    if (k % 11 == 0) adu[k] += 50;
                            });
    const PixelSurvey found = survey(*with);
    EXPECT_TRUE(found.defective.empty());
    EXPECT_NEAR(found.patterned_share, 1 / 11.0, 0.01);
}

TEST(PixelSurvey, leaves_out_what_the_camera_masks) {
    const auto change = [](int, std::vector<float>& adu) { adu[at(30, 30)] += 300, adu[at(50, 50)] += 300; };
    const auto with = movie([](int) { return test::Scene(width, height, 20); }, change);
    const Camera masked = with_masked(camera(), {at(30, 30)}, width, height);
    const PixelSurvey found = survey_pixels(*with, {0, frames}, CameraView(masked, width, height), {1.3}, 1);
    EXPECT_EQ(found.defective, std::vector<std::uint32_t>{at(50, 50)});
}

TEST(PixelSurvey, masks_pixels_of_a_part_of_the_sensor) {
    Camera mapped = test::mapped(camera(), width + 10, height + 20);
    mapped.roi_x = 10, mapped.roi_y = 20;
    const CameraView view(with_masked(mapped, {at(3, 4)}, width, height), width, height);
    EXPECT_EQ(view.masked_pixels(), 1u);
    EXPECT_EQ(view.pixel(at(3, 4)).variance_e2, masked_variance_e2);
}

TEST(PixelSurvey, finds_where_pixels_saturate) {
    const auto scene_of = [](int f) { return blinking(f, 20); };
    EXPECT_EQ(survey(*movie(scene_of, {}, 255)).saturation_adu, 255);
    EXPECT_EQ(survey(*movie(scene_of)).saturation_adu, 0);
}

TEST(PixelSurvey, knows_the_light_beside_a_pixel) {
    // Compares with sums over 20 x 20 points per pixel, for spots at 17 x 17 positions in a quarter of it.
    constexpr double sigma = 0.8;
    double least = 1;
    const auto light = [&](double x, double y) {
        double sum = 0;
        constexpr int n = 20;
        for (int j = 0; j < n; ++j)
            for (int i = 0; i < n; ++i) {
                const double u = x - 0.5 + (i + 0.5) / n, v = y - 0.5 + (j + 0.5) / n;
                sum += std::exp(-(u * u + v * v) / (2 * sigma * sigma));
            }
        return sum;
    };
    for (int j = 0; j <= 16; ++j)
        for (int i = 0; i <= 16; ++i) {
            const double x = i / 32.0, y = j / 32.0;
            std::vector<double> around;
            for (int v = -1; v <= 1; ++v)
                for (int u = -1; u <= 1; ++u)
                    if (u != 0 || v != 0) around.push_back(light(u - x, v - y));
            std::sort(around.begin(), around.end());
            least = std::min(least, around[5] / light(-x, -y));
        }
    EXPECT_NEAR(min_light_beside(sigma), least, 0.01);
    EXPECT_GT(min_light_beside(3), 0.8);
    EXPECT_LT(min_light_beside(0.3), 0.1);
}
