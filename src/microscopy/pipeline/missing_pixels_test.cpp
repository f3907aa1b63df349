// Frames with NaN pixels, as registered movies have: no rows from the edges of missing areas, and correct rows beside
// them.
// SPDX-License-Identifier: MIT
#include "pipeline/missing_pixels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "glint/localize.hpp"
#include "tests/noise_frames.hpp"

using namespace glint;

namespace {

constexpr int edge = 200, spacing = 20, frames = 24;
constexpr double sigma_px = 1.3, photons = 2000, background = 50, read_variance = 2;

double centre(int cell) { return spacing * cell + spacing / 2 + 0.31; }

/// Missing areas move to the right from frame to frame, and are rotated.
bool is_missing(int frame, double x, double y) { return x < 2 * frame % 30 || y < 3 + 0.1 * x; }

std::unique_ptr<Movie> movie(double spot_photons) {
    test::Scene scene(edge, edge, background);
    for (int j = 0; j < edge / spacing; ++j)
        for (int i = 0; i < edge / spacing; ++i) scene.add_spot(centre(i), centre(j), sigma_px, spot_photons);
    FrameBlock block{0, frames, edge, edge, PixelType::float32, {}};
    block.bytes.resize(block.frame_bytes() * frames);
    for (int f = 0; f < frames; ++f) {
        std::vector<float> frame = test::expose(scene, read_variance, std::uint64_t(100 + f));
        for (int k = 0; k < edge * edge; ++k)
            if (is_missing(f, k % edge, k / edge)) frame[std::size_t(k)] = std::numeric_limits<float>::quiet_NaN();
        std::memcpy(block.bytes.data() + std::size_t(f) * block.frame_bytes(), frame.data(), block.frame_bytes());
    }
    return memory_movie(std::move(block));
}

LocalizeOptions options(int emitters) {
    LocalizeOptions options;
    options.pixel_size_nm = 100, options.psf.sigma_nm = 100 * sigma_px, options.fit.emitters = emitters;
    options.fit.psf_misfit = 0, options.backend = Backend::cpu;
    return options;
}

class MissingPixels : public testing::TestWithParam<int> {};

}  // namespace

TEST_P(MissingPixels, make_no_rows_and_spoil_none) {
    LocalizeResult result;
    const Localizations rows =
        localize_frames(*movie(photons), test::make_camera(read_variance), options(GetParam()), &result);
    int there = 0, missing = 0;
    for (int f = 0; f < frames; ++f) {
        for (int j = 0; j < edge / spacing; ++j)
            for (int i = 0; i < edge / spacing; ++i)
                there += !is_missing(f, std::round(centre(i)), std::round(centre(j)));
        for (int k = 0; k < edge * edge; ++k) missing += is_missing(f, k % edge, k / edge);
    }
    EXPECT_EQ(result.bad_pixels, missing);
    int found = 0, beyond = 0, elsewhere = 0, small_p = 0;
    std::vector<double> pulls;
    for (std::size_t k = 0; k < rows.size(); ++k) {
        const int f = int(rows.frame[k]), i = int(rows.x_px[k] / spacing), j = int(rows.y_px[k] / spacing);
        const double dx = rows.x_px[k] - centre(i), dy = rows.y_px[k] - centre(j), far = std::hypot(dx, dy);
        if (is_missing(f, std::round(centre(i)), std::round(centre(j)))) {
            ++(far < 5 ? beyond : elsewhere);  // beyond: a molecule outside the edge whose light is visible
            continue;
        }
        ++(far < 1.5 ? found : elsewhere);
        const bool is_beside = is_missing(f, centre(i) - 3, centre(j)) || is_missing(f, centre(i), centre(j) - 3);
        if (far < 1.5 && is_beside) pulls.push_back(dx / rows.lpx_px[k]), small_p += rows.p_value[k] < 0.1;
    }
    EXPECT_EQ(found, there);  // all spots are brighter than 30 standard deviations
    EXPECT_LE(elsewhere, 2);  // noise above 5 standard deviations
    EXPECT_LE(beyond, there / 50);
    const double n = double(pulls.size());
    ASSERT_GE(n, 50);
    double mean = 0, square = 0;
    for (const double pull : pulls) mean += pull / n, square += pull * pull / n;
    EXPECT_NEAR(mean, 0, 4 / std::sqrt(n));
    EXPECT_NEAR(std::sqrt(square), 1, 4 / std::sqrt(2 * n));
    EXPECT_NEAR(small_p / n, 0.1, 4 * std::sqrt(0.1 * 0.9 / n));
}

TEST_P(MissingPixels, make_no_rows_of_empty_frames) {
    const Localizations rows = localize_frames(*movie(0), test::make_camera(read_variance), options(GetParam()));
    EXPECT_LE(rows.size(), 4u);  // noise above 5 standard deviations, of 24 frames
}

INSTANTIATE_TEST_SUITE_P(Emitters, MissingPixels, testing::Values(1, any_emitters));
