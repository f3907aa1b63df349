// Tests of the likeliest mistake in a camera's values: found if one value is wrong, empty if all are right.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>

#include "glint/inspect.hpp"
#include "glint/simulate.hpp"
#include "tests/thorough.hpp"

using namespace glint;

namespace {

Camera make_camera(double gain, double offset, double readnoise_e = 0, double em_gain = 1) {
    Camera camera;
    camera.gain_e_per_adu.scalar = float(gain), camera.offset_adu.scalar = float(offset);
    camera.readnoise_e.scalar = float(readnoise_e), camera.em_gain = em_gain;
    if (readnoise_e > 0) camera.kind = CameraKind::SCMOS;
    if (em_gain > 1) camera.kind = CameraKind::EMCCD;
    return camera;
}

Camera emccd() { return make_camera(15.6, 200, 74, 300); }

MovieNoise noise_of(const Camera& camera, double background, bool saturated = false) {
    SimulateOptions options;
    options.psf.sigma_nm = 130;
    options.frames = 300, options.background = background;
    FrameBlock block;
    Simulation(options, camera).read(0, 300, block);
    auto* counts = reinterpret_cast<std::uint16_t*>(block.bytes.data());
    for (int k = 0; saturated && k < 300 * 128 * 128; ++k)
        if (std::hypot(k % 128 - 64, k / 128 % 128 - 64) < 30) counts[k] = 65535;
    InspectOptions nothing_known;
    nothing_known.spots = false;
    return inspect(*memory_movie(std::move(block), "movie"), nothing_known).noise;
}

bool names(const std::string& text, const char* part) { return text.find(part) != text.npos; }

}  // namespace

TEST(Mistake, is_empty_if_the_camera_is_right) {
    int cases = 0;
    for (const Camera& camera : {make_camera(0.5, 100), make_camera(1.67, 99), make_camera(0.46, 100, 1.6), emccd()})
        for (const double background : {10.0, 100.0})
            for (const bool saturated : {false, true}) {
                if (!glint::test::has_turn(cases++, 5)) continue;
                EXPECT_EQ(find_wrong_camera_value(noise_of(camera, background, saturated), camera), "")
                    << camera.gain_e_per_adu.scalar << " background " << background << " saturated " << saturated;
            }
}

TEST(Mistake, names_a_gain_upside_down) {
    for (const Camera& right : {make_camera(0.5, 100), make_camera(1.67, 99, 1.6)}) {
        Camera wrong = right;
        wrong.gain_e_per_adu.scalar = 1 / right.gain_e_per_adu.scalar;
        const std::string told = find_wrong_camera_value(noise_of(right, 20), wrong);
        EXPECT_TRUE(names(told, "likeliest wrong: the gain, which is upside down")) << told;
        EXPECT_FALSE(names(told, "; or the offset")) << told;
    }
}

TEST(Mistake, names_missing_excess_noise) {
    Camera wrong = make_camera(15.6 / 300, 200);
    wrong.readnoise_e.scalar = 74.0f / 300, wrong.kind = CameraKind::SCMOS;
    const std::string told = find_wrong_camera_value(noise_of(emccd(), 20), wrong);
    EXPECT_TRUE(names(told, "likeliest wrong: the excess noise of an EM register, which is missing")) << told;
}

// The gain as on the camera's data sheet, without the multiplication of the register.
TEST(Mistake, names_a_missing_EM_register) {
    for (const double readnoise : {0.0, 74.0}) {
        const std::string told = find_wrong_camera_value(noise_of(emccd(), 20), make_camera(15.6, 200, readnoise));
        ASSERT_TRUE(names(told, "likeliest wrong: the EM gain, which is missing (`em_gain=")) << told;
        EXPECT_NEAR(std::stod(told.substr(told.find("`em_gain=") + 9)), 300, 0.05 * 300) << told;
    }
}

TEST(Mistake, names_an_EM_gain_of_a_camera_without_one) {
    const Camera right = make_camera(0.5, 100);
    Camera wrong = right;
    wrong.em_gain = 300, wrong.kind = CameraKind::EMCCD;
    const std::string told = find_wrong_camera_value(noise_of(right, 20), wrong);
    EXPECT_TRUE(names(told, "likeliest wrong: the EM gain of 300, which was off, or the camera has none (`em_gain=1`"))
        << told;
    EXPECT_FALSE(names(told, "the gain (")) << told;
}

TEST(Mistake, names_missing_read_noise_before_the_offset) {
    const std::string told = find_wrong_camera_value(noise_of(make_camera(0.46, 100, 1.6), 5), make_camera(0.46, 100));
    EXPECT_TRUE(names(told, "likeliest wrong: the read noise, which is missing (1.")) << told;
    EXPECT_TRUE(names(told, "; or the offset")) << told;
}

TEST(Mistake, names_another_gain_with_its_value) {
    const std::string told = find_wrong_camera_value(noise_of(make_camera(0.5, 100), 20), make_camera(0.8, 100));
    EXPECT_TRUE(names(told, "likeliest wrong: the gain (0.")) << told;
    EXPECT_NEAR(std::stod(told.substr(told.find('(') + 1)), 0.5, 0.02) << told;
}

// Offset and read noise both shift the zero of the noise.
TEST(Mistake, names_offset_and_read_noise_together) {
    const std::string high = find_wrong_camera_value(noise_of(make_camera(0.5, 100), 20), make_camera(0.5, 116));
    EXPECT_TRUE(names(high, "the offset, which is too high (")) << high;
    EXPECT_FALSE(names(high, "the gain")) << high;
    const std::string missing = find_wrong_camera_value(noise_of(make_camera(0.5, 100, 3), 20), make_camera(0.5, 100));
    EXPECT_TRUE(names(missing, "the read noise, which is missing (3")) << missing;
    const std::string low = find_wrong_camera_value(noise_of(make_camera(0.5, 100), 20), make_camera(0.5, 80));
    EXPECT_TRUE(names(low, "the offset, which is too low (")) << low;
}

TEST(Mistake, admits_that_several_values_are_wrong) {
    const std::string told = find_wrong_camera_value(noise_of(make_camera(0.5, 100), 10), make_camera(3, 500));
    EXPECT_TRUE(names(told, "several are wrong")) << told;
}
