// Hot and blinking pixels that the camera masks: no spots there, and unchanged spots elsewhere.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "glint/localize.hpp"
#include "tests/noise_frames.hpp"

using namespace glint;

namespace {

constexpr int edge = 200, spacing = 20, frames = 12, per_frame = (edge / spacing) * (edge / spacing);
constexpr double sigma_px = 1.3, photons = 1000, background = 20, read_variance = 2;

double centre(int cell) { return spacing * cell + spacing / 2 + 0.31; }

/// Marks bad pixels far from all spots, and beside the centre of every second spot.
std::vector<std::uint8_t> bad_pixels() {
    std::vector<std::uint8_t> bad(edge * edge);
    for (int j = 0; j < edge / spacing; ++j)
        for (int i = 0; i < edge / spacing; ++i) {
            if (i > 0 && j > 0) bad[std::size_t(j * spacing * edge + i * spacing)] = 1;
            if ((i + j) % 2 == 0) bad[std::size_t(int(centre(j)) * edge + int(centre(i)) + 1)] = 1;
        }
    return bad;
}

/// Every second bad pixel is hot, the other bad pixels blink.
std::unique_ptr<Movie> movie(const std::vector<std::uint8_t>& bad) {
    test::Scene scene(edge, edge, background);
    for (int j = 0; j < edge / spacing; ++j)
        for (int i = 0; i < edge / spacing; ++i) scene.add_spot(centre(i), centre(j), sigma_px, photons);
    FrameBlock block{0, frames, edge, edge, PixelType::float32, {}};
    block.bytes.resize(block.frame_bytes() * frames);
    for (int f = 0; f < frames; ++f) {
        std::vector<float> frame = test::expose(scene, read_variance, std::uint64_t(100 + f));
        int n = 0;
        for (std::size_t k = 0; k < bad.size(); ++k)
            if (bad[k] && (++n % 2 == 0 || f % 3 == 0)) frame[k] += 800;
        std::memcpy(block.bytes.data() + std::size_t(f) * block.frame_bytes(), frame.data(), block.frame_bytes());
    }
    return memory_movie(std::move(block));
}

Camera camera(const std::vector<std::uint8_t>& masked) {
    Camera camera = test::make_camera(read_variance, CameraKind::SCMOS);
    camera.masked = masked, camera.sensor_width = camera.sensor_height = edge;
    return camera;
}

struct Found {
    int at_bad = 0, at_spots = 0, elsewhere = 0;
    std::vector<double> pulls_beside_bad;
};

Found found_in(const Localizations& rows) {
    Found found;
    for (std::size_t k = 0; k < rows.size(); ++k) {
        const int i = int(rows.x_px[k] / spacing), j = int(rows.y_px[k] / spacing);
        const double dx = rows.x_px[k] - centre(i), dy = rows.y_px[k] - centre(j);
        const double to_bad = std::hypot(std::remainder(rows.x_px[k], spacing), std::remainder(rows.y_px[k], spacing));
        if (std::hypot(dx, dy) < 1) {
            ++found.at_spots;
            if ((i + j) % 2 == 0) found.pulls_beside_bad.push_back(dx / rows.lpx_px[k]);
        } else {
            ++(to_bad < 2 ? found.at_bad : found.elsewhere);
        }
    }
    return found;
}

Found localized(const Camera& camera, int emitters, LocalizeResult* result = nullptr, bool keep_defective = false) {
    LocalizeOptions options;
    options.pixel_size_nm = 100, options.psf.sigma_nm = 100 * sigma_px, options.fit.emitters = emitters;
    options.fit.psf_misfit = 0, options.backend = Backend::cpu;
    options.keep_defective = keep_defective;
    return found_in(localize_frames(*movie(bad_pixels()), camera, options, result));
}

class MaskedPixels : public testing::TestWithParam<int> {};

}  // namespace

TEST_P(MaskedPixels, make_no_spots_and_spoil_none) {
    LocalizeResult result;
    const Found found = localized(camera(bad_pixels()), GetParam(), &result);
    EXPECT_EQ(found.at_bad, 0);
    EXPECT_EQ(found.at_spots, frames * per_frame);  // spots are 30 standard deviations high
    EXPECT_LE(found.elsewhere, 2);                  // noise above 5 standard deviations
    EXPECT_EQ(result.masked_pixels, 81 + 50);
    EXPECT_EQ(result.defective_pixels, 0) << "the mask has them all";
    // One of 6 x 6 pixels is a sample. Samples within 6 px of a spot or at masked pixels are not used.
    const double samples = 1089 * (1 - per_frame * 13.0 * 13 / (edge * edge) - 131 * 9.0 / (edge * edge));
    EXPECT_NEAR(result.noise_check, 1, 4 * std::sqrt(std::numbers::pi / 2 / (2 * samples * frames)));
    double mean = 0, square = 0;
    const double n = double(found.pulls_beside_bad.size());
    for (const double pull : found.pulls_beside_bad) mean += pull / n, square += pull * pull / n;
    EXPECT_NEAR(mean, 0, 4 / std::sqrt(n));
    EXPECT_NEAR(std::sqrt(square), 1, 4 / std::sqrt(2 * n));
}

TEST_P(MaskedPixels, are_spots_without_the_mask) {
    EXPECT_GT(localized(camera({}), GetParam(), nullptr, true).at_bad, frames * 81 / 2);
}

/// Half of the bad pixels are hot in all frames and are found. The other half, hot in one frame of three, are hits.
TEST_P(MaskedPixels, are_found_in_the_movie) {
    LocalizeResult result;
    const Found found = localized(camera({}), GetParam(), &result);
    EXPECT_EQ(found.at_bad, 0);
    EXPECT_GE(found.at_spots,
              frames * per_frame - frames / 3 * 25);  // a third of the frames has a hit beside 25 spots
    EXPECT_LE(found.elsewhere, 2);
    EXPECT_EQ(result.masked_pixels, 0);
    EXPECT_EQ(result.defective_pixels, (81 + 50) / 2);
    EXPECT_GT(result.hits, 0);
}

INSTANTIATE_TEST_SUITE_P(Emitters, MaskedPixels, testing::Values(1, any_emitters));
