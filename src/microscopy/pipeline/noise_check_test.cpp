// The noise check on movies with a known camera: 1 if the camera is given correctly, a clear signal if not, and no
// false result from saturated pixels.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "glint/detect.hpp"
#include "glint/localize.hpp"
#include "glint/simulate.hpp"
#include "tests/thorough.hpp"

using namespace glint;

namespace {

constexpr int size = 128;

/// With so few e- per ADU that rounding to whole ADU adds no noise.
Camera ideal() {
    Camera camera;
    camera.offset_adu.scalar = 100, camera.gain_e_per_adu.scalar = 0.1f;
    return camera;
}

Camera scmos(float readnoise_e = 1.6f) {
    Camera camera = ideal();
    camera.kind = CameraKind::SCMOS, camera.gain_e_per_adu.scalar = 0.46f, camera.readnoise_e.scalar = readnoise_e;
    return camera;
}

Camera emccd() {
    Camera camera = ideal();
    camera.kind = CameraKind::EMCCD, camera.em_gain = 300, camera.gain_e_per_adu.scalar = 15.6f;
    camera.readnoise_e.scalar = 74;
    return camera;
}

Camera with_qe(Camera camera, float qe) {
    camera.relative_qe.scalar = qe;
    return camera;
}

Camera with_maps() {
    Camera camera = scmos();
    camera.sensor_width = camera.sensor_height = size;
    for (int k = 0; k < size * size; ++k) {
        camera.offset_adu.map.push_back(100 + float(k % 7));
        camera.gain_e_per_adu.map.push_back(0.4f + 0.01f * float(k % 11));
        camera.readnoise_e.map.push_back(1 + 0.3f * float(k % 5) + (k % 97 == 0 ? 10.0f : 0.0f));
        camera.relative_qe.map.push_back(0.4f + 0.1f * float(k * 7 % 12));
    }
    return camera;
}

struct Conditions {
    Camera camera;
    double background = 20, spots = 1;
    int frames = 50;
    Structure structure = Structure::random;
};

FrameBlock simulated(const Conditions& c) {
    SimulateOptions options;
    options.structure = c.structure;
    options.psf.sigma_nm = 130;
    options.width = options.height = size, options.frames = c.frames;
    options.background = c.background, options.spots_per_frame = c.spots;
    FrameBlock block;
    Simulation(options, c.camera).read(0, c.frames, block);
    return block;
}

struct Checked {
    double spread = 0;
    std::string warning;
};

Checked checked(FrameBlock block, const Camera& camera) {
    LocalizeOptions options;
    options.psf.sigma_nm = 130, options.pixel_size_nm = 100, options.threads = 2;
    Checked out;
    options.warn = [&](const std::string& text) {
        if (text.find("noise on empty regions") != std::string::npos) out.warning = text;
    };
    LocalizeResult result;
    localize_frames(*memory_movie(std::move(block), "movie"), camera, options, &result);
    out.spread = result.noise_check;
    return out;
}

/// Paints a disk into every frame.
void paint(FrameBlock& block, int radius, std::uint16_t count) {
    auto* counts = reinterpret_cast<std::uint16_t*>(block.bytes.data());
    for (int k = 0; k < block.count; ++k, counts += size * size)
        for (int y = 0; y < size; ++y)
            for (int x = 0; x < size; ++x)
                if (std::hypot(x - size / 2, y - size / 2) < radius) counts[y * size + x] = count;
}

}  // namespace

TEST(NoiseCheck, is_one_on_simulated_movies) {
    int cases = 0;
    for (const Camera& camera : {ideal(), scmos(), emccd(), with_qe(ideal(), 0.8f), with_qe(ideal(), 0.25f),
                                 with_qe(scmos(), 0.25f), with_qe(emccd(), 0.5f), with_maps()})
        for (double background : {5.0, 50.0, 500.0}) {
            if (!glint::test::has_turn(cases++, 5)) continue;
            const Checked found = checked(simulated({camera, background}), camera);
            // The median of 50 frames with about 900 samples each, no two of which share a pixel. The square of a
            // sample has a variance of 2 plus the kurtosis of few photons. For the sum of nine pixels, the kurtosis is
            // at most 6 on an EMCCD.
            const double kurtosis = (camera.kind == CameraKind::EMCCD ? 6 : 1) / (background * 0.25);
            const double error = 1.2533 * std::sqrt((2 + kurtosis) / 900) / 2 / std::sqrt(50.0);
            EXPECT_NEAR(found.spread, 1, 4 * error + 0.003) << background << " q " << camera.relative_qe.scalar;
            EXPECT_EQ(found.warning, "");
        }
}

TEST(NoiseCheck, raises_no_alarm_where_the_camera_is_right) {
    int cases = 0;
    for (const Camera& camera : {ideal(), scmos(), emccd(), with_maps(), with_qe(scmos(), 0.8f)})
        for (double background : {1.0, 10.0, 500.0})
            for (double spots : {0.5, 30.0, 200.0})
                for (int frames : {1, 10})
                    for (Structure structure : {Structure::random, Structure::microtubules}) {
                        if (!glint::test::has_turn(cases++, glint::test::smaller)) continue;
                        const Checked found =
                            checked(simulated({camera, background, spots, frames, structure}), camera);
                        EXPECT_EQ(found.warning, "") << found.spread << ": background " << background << ", spots "
                                                     << spots << ", frames " << frames << ", case " << cases;
                    }
    EXPECT_EQ(cases, 180);
}

TEST(NoiseCheck, is_not_fooled_by_saturated_or_painted_areas) {
    int cases = 0;
    for (const Camera& camera : {ideal(), scmos(), emccd(), with_maps()})
        for (int radius : {20, 50})
            for (int count : {65535, 4095, 0}) {
                if (!glint::test::has_turn(cases++, 5)) continue;
                FrameBlock block = simulated({camera, 20, 5, 20});
                paint(block, radius, std::uint16_t(count));
                const Checked found = checked(block, camera);
                EXPECT_NEAR(found.spread, 1, 0.1) << "radius " << radius << ", count " << count;
                EXPECT_EQ(found.warning, "") << "radius " << radius << ", count " << count;
            }
}

TEST(NoiseCheck, is_not_fooled_by_noise_that_is_cut_off) {
    Conditions c{scmos(), 400, 1, 20};
    FrameBlock block = simulated(c);
    auto* counts = reinterpret_cast<std::uint16_t*>(block.bytes.data());
    for (int k = 0; k < c.frames * size * size; ++k)  // half of the frame saturates at its mean
        if (k % size > size / 2) counts[k] = std::min<std::uint16_t>(counts[k], std::uint16_t(100 + 400 / 0.46));
    const Checked found = checked(block, c.camera);
    EXPECT_NEAR(found.spread, 1, 0.1);
    EXPECT_EQ(found.warning, "");
}

// Noise scales with the square root of the gain; read noise is given in photoelectrons and stays.
TEST(NoiseCheck, notices_a_gain_that_was_given_upside_down) {
    for (Camera right : {ideal(), scmos(), emccd()}) {
        if (right.kind == CameraKind::Ideal) right.gain_e_per_adu.scalar = 1.67f;
        const FrameBlock block = simulated({right, 50, 5, 20});
        Camera wrong = right;
        const float gain = right.gain_e_per_adu.scalar;
        wrong.gain_e_per_adu.scalar = 1 / gain;
        const Checked found = checked(block, wrong);
        EXPECT_NE(found.warning.find(fmt::format("a gain of {:.3g} would give 1.0", gain)), std::string::npos)
            << found.warning << found.spread;
        EXPECT_NE(found.warning.find(fmt::format("is {:.3g} in ADU per photoelectron?", 1 / gain)), std::string::npos);
        wrong.gain_e_per_adu.scalar = gain * 3;
        EXPECT_EQ(checked(block, wrong).warning.find("in ADU per"), std::string::npos) << "wrong, but not inverted";
    }
}

// An EMCCD's median of few photons is well below the mean, and read noise hides most of the rest.
TEST(NoiseCheck, notices_a_gain_upside_down_also_where_an_emccd_has_little_light) {
    for (double background : {1.0, 2.0, 5.0}) {
        const FrameBlock block = simulated({emccd(), background, 5, 20});
        Camera wrong = emccd();
        wrong.gain_e_per_adu.scalar = 1 / wrong.gain_e_per_adu.scalar;
        const Checked found = checked(block, wrong);
        EXPECT_NE(found.warning.find("a gain of 15.6 would give 1."), std::string::npos)
            << found.warning << ", background " << background;
    }
}

TEST(NoiseCheck, asks_whether_a_background_was_subtracted) {
    FrameBlock block = simulated({ideal(), 20, 5, 20});
    const Camera right = ideal();
    auto* counts = reinterpret_cast<std::uint16_t*>(block.bytes.data());
    for (int k = 0; k < block.count * size * size; ++k) counts[k] = std::uint16_t(std::max(counts[k] - 310, 0));
    Camera raw = right;
    raw.offset_adu.scalar = 0;
    EXPECT_NE(checked(block, raw).warning.find("was a background subtracted"), std::string::npos);
    Camera wrong = right;
    wrong.gain_e_per_adu.scalar *= 3;
    EXPECT_EQ(checked(simulated({right, 20, 5, 20}), wrong).warning.find("subtracted"), std::string::npos);
}

TEST(NoiseCheck, notices_an_offset_that_is_far_too_high) {
    for (const Camera& right : {ideal(), scmos(), scmos(20), emccd()})
        for (double background : {1.0, 10.0, 100.0}) {
            const FrameBlock block = simulated({right, background, 5, 20});
            Camera wrong =
                right;  // so high that the background appears to be at least as far below 0 as its true value is above
            const double adu_per_e = right.em_gain / right.gain_e_per_adu.scalar;
            const double read_e = right.readnoise_e.scalar / right.em_gain;
            wrong.offset_adu.scalar += float((2 * background + 2 * read_e) * adu_per_e);
            const Checked found = checked(block, wrong);
            const std::string told = fmt::format("the offset of {:g} ADU is too high", wrong.offset_adu.scalar);
            EXPECT_NE(found.warning.find(told), std::string::npos)
                << found.warning << found.spread << ": background " << background << ", read noise "
                << right.readnoise_e.scalar;
        }
}

// A bright background stays above 0 even if the offset includes 40 % of it, but a noise ratio of 1.15 still reveals it.
TEST(NoiseCheck, notices_an_offset_that_takes_much_of_a_bright_background) {
    const Camera right = scmos(17.3f);
    Camera wrong = right;
    wrong.offset_adu.scalar += 200 / 0.46f;
    const Checked found = checked(simulated({right, 500, 10, 100}), wrong);
    EXPECT_NEAR(found.spread, std::sqrt(800.0 / 600), 0.02);
    EXPECT_NE(found.warning.find("offset too high"), std::string::npos);
}
