// Movies with saturated spots, hits of single pixels and hot pixels: no false rows, and correct rows.
// SPDX-License-Identifier: MIT
#include "pipeline/unusable_pixels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "glint/localize.hpp"
#include "tests/noise_frames.hpp"

using namespace glint;

namespace {

constexpr int edge = 120, spacing = 20, cells = edge / spacing, frames = 40, spots = cells * cells * frames;
constexpr double sigma_px = 1.3, background = 20;

struct Place {
    double x, y, photons;
};
/// Returns the position of a lone molecule, which differs between frames, and its photons: `photons` to ten times as
/// many.
Place place_of(int frame, int cell, double photons) {
    Random random(std::uint64_t(31 + frame), Stream::place, std::uint64_t(cell));
    const double x = random.uniform(), y = random.uniform();
    return {spacing * (cell % cells + 0.5) + 4 * (x - 0.5), spacing * (double(cell / cells) + 0.5) + 4 * (y - 0.5),
            photons * std::pow(10, random.uniform())};
}

/// `hit`: e- of hits in each frame at the corners of four cells.
std::unique_ptr<Movie> movie(double photons, float max_adu, float hit = 0) {
    FrameBlock block{0, frames, edge, edge, PixelType::uint16, {}};
    block.bytes.resize(block.frame_bytes() * frames);
    for (int f = 0; f < frames; ++f) {
        test::Scene scene(edge, edge, background);
        for (int cell = 0; cell < cells * cells; ++cell) {
            const Place place = place_of(f, cell, photons);
            scene.add_spot(place.x, place.y, sigma_px, place.photons);
        }
        std::vector<float> frame = test::expose(scene, 1, std::uint64_t(300 + f));
        const int corner = spacing * (1 + f % (cells - 1));
        if (hit > 0) frame[std::size_t(corner * edge + spacing * (1 + f / (cells - 1) % (cells - 1)))] += hit;
        std::vector<std::uint16_t> counts;
        for (const float e : frame) counts.push_back(std::uint16_t(std::lround(std::clamp(e + 100, 0.0f, max_adu))));
        std::memcpy(block.bytes.data() + std::size_t(f) * block.frame_bytes(), counts.data(), block.frame_bytes());
    }
    return memory_movie(std::move(block));
}

Camera camera() {
    Camera camera = test::make_camera(1, CameraKind::SCMOS);
    camera.offset_adu.scalar = 100;
    return camera;
}

struct Found {
    int right = 0, wrong = 0;
    std::vector<double> pulls, photon_pulls;
};
Found found_in(const Localizations& rows, double photons) {
    Found found;
    for (std::size_t k = 0; k < rows.size(); ++k) {
        const int cell = int(rows.y_px[k] / spacing) * cells + int(rows.x_px[k] / spacing);
        const Place place = place_of(int(rows.frame[k]), cell, photons);
        const double dx = rows.x_px[k] - place.x, dy = rows.y_px[k] - place.y;
        if (std::hypot(dx, dy) > 1) {
            ++found.wrong;
            continue;
        }
        ++found.right;
        found.pulls.push_back(dx / rows.lpx_px[k]), found.pulls.push_back(dy / rows.lpy_px[k]);
        found.photon_pulls.push_back((rows.photons[k] - place.photons) / rows.photons_unc[k]);
    }
    return found;
}

double root_mean_square(const std::vector<double>& values) {
    double sum = 0;
    for (const double v : values) sum += v * v;
    return std::sqrt(sum / double(values.size()));
}

LocalizeOptions options(int emitters) {
    LocalizeOptions options;
    options.pixel_size_nm = 100, options.psf.sigma_nm = 100 * sigma_px, options.fit.emitters = emitters;
    options.backend = Backend::cpu;
    return options;
}

class UnusablePixels : public testing::TestWithParam<int> {};

}  // namespace

TEST_P(UnusablePixels, of_saturated_spots_have_no_part_in_fits) {
    constexpr double photons = 6000;
    LocalizeOptions how = options(GetParam());
    std::vector<std::string> warnings;
    how.warn = [&](const std::string& warning) { warnings.push_back(warning); };
    LocalizeResult result;
    const Localizations rows = localize_frames(*movie(photons, 1023), camera(), how, &result);
    const Found found = found_in(rows, photons);
    EXPECT_EQ(found.right, spots);
    EXPECT_LE(found.wrong, 2);  // noise above 5 standard deviations
    EXPECT_EQ(result.saturation_adu, 1023);
    EXPECT_GT(result.saturated_spots, spots / 2);
    EXPECT_EQ(result.mostly_saturated,
              std::count(rows.status.begin(), rows.status.end(), std::uint8_t(FitStatus::saturated)));
    EXPECT_GT(result.mostly_saturated, spots / 20);
    EXPECT_NEAR(root_mean_square(found.pulls), 1, 4 / std::sqrt(2.0 * 2 * spots));
    EXPECT_NEAR(root_mean_square(found.photon_pulls), 1, 4 / std::sqrt(2.0 * spots));
    EXPECT_TRUE(std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
        return warning.find("saturate at 1023 ADU") != warning.npos;
    }));
}

TEST_P(UnusablePixels, hit_in_one_frame_make_no_rows) {
    constexpr double photons = 1000;
    for (const float hit : {120.0f, 300.0f, 3000.0f}) {
        LocalizeResult result;
        const Found found =
            found_in(localize_frames(*movie(photons, 65535, hit), camera(), options(GetParam()), &result), photons);
        EXPECT_EQ(found.right, spots);
        EXPECT_LE(found.wrong, 2) << hit;
        EXPECT_GE(result.hits, frames - 2) << hit;
        EXPECT_EQ(result.defective_pixels, 0) << "each is hit in one frame or two";
        LocalizeOptions all = options(GetParam());
        all.keep_defective = true;
        EXPECT_GE(found_in(localize_frames(*movie(photons, 65535, hit), camera(), all), photons).wrong, frames / 2)
            << hit;
    }
}

TEST_P(UnusablePixels, are_none_in_a_good_movie) {
    constexpr double photons = 500;
    LocalizeResult result;
    const auto good = movie(photons, 65535);
    const Localizations rows = localize_frames(*good, camera(), options(GetParam()), &result);
    LocalizeOptions all = options(GetParam());
    all.keep_defective = true;
    const Localizations kept = localize_frames(*good, camera(), all);
    EXPECT_EQ(result.hits + result.defective_pixels + result.saturated_spots, 0);
    EXPECT_EQ(rows.x_px, kept.x_px);
}

INSTANTIATE_TEST_SUITE_P(Emitters, UnusablePixels, testing::Values(1, any_emitters));
