// A few frames reveal a camera's faults. Good movies give no warnings.
// SPDX-License-Identifier: MIT
#include "pipeline/frame_checks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "glint/localize.hpp"
#include "pipeline/lone_spots.hpp"

namespace glint {
namespace {

constexpr int edge = 64;
constexpr double background_e = 20, read_noise_e = 1, offset_adu = 100;
using Light = std::function<double(int x, int y)>;

struct Scene {
    Light light = [](int, int) { return background_e; };
    double pattern_e = 0;     // standard deviation
    double molecules = 4;     // per frame
    bool are_static = false;  // the same molecules in all frames
    std::function<int(int x, int y, int adu)> cut = [](int, int, int adu) { return adu; };
    int frames = 20;
};

std::unique_ptr<Movie> movie_of(const Scene& scene, unsigned seed = 1) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> place(0, edge);
    std::vector<double> pattern;
    for (int k = 0; k < edge * edge; ++k) pattern.push_back(scene.pattern_e * normal(random));
    FrameBlock block;
    block.count = scene.frames, block.width = block.height = edge;
    block.bytes.resize(block.frame_bytes() * std::size_t(scene.frames));
    auto* counts = reinterpret_cast<std::uint16_t*>(block.bytes.data());
    std::vector<std::array<double, 2>> molecules;
    for (int frame = 0; frame < scene.frames; ++frame) {
        if (frame == 0 || !scene.are_static) {
            molecules.clear();
            for (int k = std::poisson_distribution<int>(scene.molecules)(random); k > 0; --k)
                molecules.push_back({place(random), place(random)});
        }
        for (int y = 0; y < edge; ++y)
            for (int x = 0; x < edge; ++x) {
                double mu = scene.light(x, y);
                for (const auto& [u, v] : molecules)  // 2,000 photons of 1.3 px
                    mu += 188 * std::exp(-((x - u) * (x - u) + (y - v) * (y - v)) / (2 * 1.3 * 1.3));
                const double adu = std::poisson_distribution<int>(mu)(random) + read_noise_e * normal(random) +
                                   pattern[std::size_t(y * edge + x)] + offset_adu;
                *counts++ = std::uint16_t(std::max(scene.cut(x, y, int(std::lround(adu))), 0));
            }
    }
    return memory_movie(std::move(block), "scene.tif");
}

Camera camera() {
    Camera camera;
    camera.offset_adu.scalar = offset_adu;
    camera.readnoise_e.scalar = read_noise_e;
    return camera;
}

LocalizeOptions options(std::vector<std::string>* warnings = nullptr) {
    LocalizeOptions options;
    options.psf.sigma_nm = 130;
    options.pixel_size_nm = 100;
    options.threads = 2;
    options.backend = Backend::cpu;
    if (warnings) options.warn = [warnings](const std::string& text) { warnings->push_back(text); };
    return options;
}

FrameChecks checks_of(const Scene& scene, unsigned seed = 1) {
    const auto movie = movie_of(scene, seed);
    return check_frames(*movie, make_job(movie->info(), camera(), options()), scene.frames);
}

/// Returns the warnings of a whole run, one per line.
std::string warnings_of(const Scene& scene) {
    const auto movie = movie_of(scene);
    std::vector<std::string> warnings;
    localize_frames(*movie, camera(), options(&warnings));
    std::string all;
    for (const std::string& one : warnings) all += one + "\n";
    return all;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST(FrameChecks, find_nothing_in_frames_of_molecules_whether_they_blink_or_not) {
    for (const bool are_static : {false, true})
        for (unsigned seed = 1; seed <= 10; ++seed) {
            const FrameChecks checks = checks_of({.molecules = 20, .are_static = are_static}, seed);
            EXPECT_EQ(checks.frames, 4);
            EXPECT_EQ(pattern_warning(checks), "");
            EXPECT_EQ(saturation_warning(checks), "");
            EXPECT_EQ(offset_warning(checks), "");
        }
}

// 2^24 + 1 is the first whole number that single precision cannot represent.
TEST(FrameChecks, report_counts_that_single_precision_rounds) {
    const auto checks_of_counts = [](float add) {
        FrameBlock block;
        block.count = 4, block.width = block.height = edge, block.type = PixelType::float32;
        block.bytes.resize(block.frame_bytes() * 4);
        auto* counts = reinterpret_cast<float*>(block.bytes.data());
        for (std::size_t k = 0; k < std::size_t(4) * edge * edge; ++k) counts[k] = add + float(k % 64);
        const auto movie = memory_movie(std::move(block), "scene.tif");
        return check_frames(*movie, make_job(movie->info(), camera(), options()), 4);
    };
    EXPECT_EQ(rounded_counts_warning(checks_of_counts(100)), "");
    EXPECT_EQ(rounded_counts_warning(checks_of_counts(16777216 - 63)), "");
    const std::string text = rounded_counts_warning(checks_of_counts(2147483648.0f));
    EXPECT_TRUE(has(text, "counts reach 2147483648")) << text;
    EXPECT_TRUE(has(text, "multiples of up to 128")) << text;
    EXPECT_TRUE(has(rounded_counts_warning(checks_of_counts(16777218)), "multiples of up to 2")) << text;
    EXPECT_EQ(rounded_counts_warning(checks_of_counts(0.5f)), "");
}

// Dark pixels between molecules are darker than their neighbours in each frame, because of different molecules.
TEST(FrameChecks, find_no_pattern_in_crowds) {
    for (const double molecules_per_px : {0.03, 0.06})
        for (const unsigned seed : {1U, 2U}) {
            Scene scene;
            scene.molecules = molecules_per_px * edge * edge;
            const auto movie = movie_of(scene, seed);
            const LocalizeJob job = prepare_job(*movie, camera(), options());
            EXPECT_EQ(check_frames(*movie, job, scene.frames).pattern_e, 0) << molecules_per_px;
        }
}

TEST(FrameChecks, find_a_fixed_pattern_and_how_great_it_is) {
    const double noise = std::sqrt(background_e + read_noise_e * read_noise_e);
    for (const double pattern : {0.6 * noise, 1.5 * noise, 4 * noise}) {
        const FrameChecks checks = checks_of({.pattern_e = pattern});
        // 2,000 pixels are compared, of which 2,000 / sqrt(1.5) are independent: 5 standard errors.
        EXPECT_NEAR(checks.pattern_e, pattern, 0.12 * pattern + 0.05 * noise);
        EXPECT_EQ(checks.is_patterned(), pattern > noise);
        EXPECT_TRUE(has(pattern_warning(checks), "fixed pattern"));
    }
}

TEST(FrameChecks, a_pattern_is_the_only_cause_that_a_run_names) {
    const std::string warnings = warnings_of({.pattern_e = 15, .frames = 8});
    EXPECT_TRUE(has(warnings, "fixed pattern")) << warnings;
    EXPECT_FALSE(has(warnings, "crowded")) << warnings;
    EXPECT_FALSE(has(warnings, "EMCCD")) << warnings;
}

TEST(FrameChecks, a_border_of_zeros_is_the_only_cause_that_a_run_names) {
    const auto border = [](int x, int y, int adu) { return x < 5 || y < 4 ? 0 : adu; };
    const std::string warnings = warnings_of({.cut = border, .frames = 8});
    EXPECT_TRUE(has(warnings, "border of zeros")) << warnings;
    EXPECT_FALSE(has(warnings, "crowded")) << warnings;
    EXPECT_FALSE(has(warnings, "noise on empty regions")) << warnings;
    EXPECT_FALSE(has(warnings, "offset")) << warnings;
}

TEST(FrameChecks, strips_below_the_offset_are_named) {
    const auto strip = [](int x, int y, int adu) { return (y > 30 && y < 38) || x > 58 ? 60 + adu % 4 : adu; };
    const std::string warnings = warnings_of({.cut = strip, .frames = 8});
    EXPECT_TRUE(has(warnings, "below the camera's offset")) << warnings;
    EXPECT_FALSE(has(warnings, "crowded")) << warnings;
}

TEST(FrameChecks, strips_with_sharp_edges_in_a_short_movie_are_static_and_not_crowded) {
    const auto strips = [](int x, int y) { return y % 20 < 7 || x % 30 < 4 ? 2.0 : 60.0; };
    const std::string warnings = warnings_of({.light = strips, .frames = 8});
    EXPECT_TRUE(has(warnings, "static light")) << warnings;
    EXPECT_FALSE(has(warnings, "frames are crowded")) << warnings;
}

TEST(FrameChecks, molecules_that_blink_are_not_static_however_many_they_are) {
    for (const double molecules : {40, 200, 400}) {
        const auto movie = movie_of({.molecules = molecules});
        EXPECT_LT(static_spots(*movie, make_job(movie->info(), camera(), options()), 20), 0.25);
    }
}

TEST(FrameChecks, movies_that_are_saturated_everywhere_say_so_with_level_and_share) {
    const auto all = warnings_of({.light = [](int, int) { return 5000.0; },
                                  .cut = [](int, int, int adu) { return std::min(adu, 1000); },
                                  .frames = 8});
    EXPECT_TRUE(has(all, "the count 1000")) << all;
    EXPECT_FALSE(has(all, "threshold")) << all;
    const auto half = warnings_of({.light = [](int, int) { return 1000.0; },
                                   .cut = [](int, int, int adu) { return std::min(adu, 1100); },
                                   .frames = 8});
    EXPECT_TRUE(has(half, "% of the pixels are saturated, at 1100 ADU")) << half;
    EXPECT_FALSE(has(half, "threshold")) << half;
    const FrameChecks checks = checks_of({.light = [](int, int) { return 1000.0; },
                                          .molecules = 0,
                                          .cut = [](int, int, int adu) { return std::min(adu, 1100); }});
    // the share of a Poisson distribution that is at or above its mean
    EXPECT_NEAR(checks.saturated_share, 0.506, 0.02);
}

TEST(FrameChecks, the_noise_of_each_pixel_is_compared_with_its_own_light) {
    const auto stop = [](int x, int y) { return std::hypot(x - 32, y - 32) < 22 ? 60.0 : 2.0; };
    for (const unsigned seed : {1, 2, 3}) EXPECT_NEAR(checks_of({.light = stop}, seed).noise_ratio, 1, 0.08);
    const std::string warnings = warnings_of({.light = stop, .molecules = 1, .frames = 120});
    EXPECT_FALSE(has(warnings, "changes over the movie")) << warnings;
    EXPECT_FALSE(has(warnings, "noise on empty regions")) << warnings;
}

}  // namespace glint
