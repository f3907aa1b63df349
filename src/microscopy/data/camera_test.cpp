// Tests of the conversion to photoelectrons for every kind of camera, and of the errors for invalid ones.
// SPDX-License-Identifier: MIT
#include "glint/camera.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "glint/error.hpp"

using namespace glint;

namespace {

template <class T>
std::vector<float> converted(const Camera& camera, int width, int height, const std::vector<T>& counts, PixelType type,
                             int* bad = nullptr) {
    std::vector<float> out(counts.size());
    const int n = CameraView(camera, width, height)
                      .to_photoelectrons(reinterpret_cast<const std::byte*>(counts.data()), type, out);
    if (bad) *bad = n;
    return out;
}

std::string message_of(const Camera& camera, int width = 2, int height = 2) {
    try {
        CameraView(camera, width, height);
    } catch (const OptionError& error) {
        return error.what();
    }
    return "no error";
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

/// A 3x2 sensor whose pixels all differ.
Camera mapped() {
    Camera camera;
    camera.kind = CameraKind::SCMOS;
    camera.sensor_width = 3, camera.sensor_height = 2;
    camera.offset_adu.map = {100, 101, 102, 103, 104, 105};
    camera.gain_e_per_adu.map = {0.5f, 1, 2, 0.25f, 4, 8};
    camera.readnoise_e.map = {1, 2, 3, 4, 5, 6};
    return camera;
}

}  // namespace

TEST(Camera, scalars) {
    Camera camera;
    camera.offset_adu.scalar = 100, camera.gain_e_per_adu.scalar = 0.5f, camera.readnoise_e.scalar = 3;
    EXPECT_EQ(converted<std::uint16_t>(camera, 2, 1, {100, 300}, PixelType::uint16), (std::vector<float>{0, 100}));
    EXPECT_EQ(converted<std::uint8_t>(camera, 2, 1, {90, 102}, PixelType::uint8), (std::vector<float>{-5, 1}));
    const CameraView view(camera, 2, 1);
    EXPECT_TRUE(view.variance_map().empty());
    EXPECT_EQ(view.variance_scalar(), 9);
    EXPECT_EQ(view.excess_noise(), 1);
}

TEST(Camera, a_quantum_efficiency_divides_light_read_noise_and_shot_noise) {
    Camera camera;
    camera.relative_qe.scalar = 0.5f, camera.readnoise_e.scalar = 3;
    const CameraView scalar(camera, 2, 1);
    EXPECT_EQ(scalar.pixel(0).factor_e_per_adu, 2);
    EXPECT_EQ(scalar.variance_scalar(), 36);
    EXPECT_EQ(scalar.qe_scalar(), 0.5f);
    EXPECT_EQ(scalar.shot_noise(), 2);
    camera.sensor_width = 3, camera.sensor_height = 1, camera.relative_qe = {0, {1, 0.5f, 2}};
    camera.roi_x = 1;
    const CameraView map(camera, 2, 1);
    EXPECT_EQ(std::vector<float>(map.qe_map().begin(), map.qe_map().end()), (std::vector<float>{0.5f, 2}));
    EXPECT_EQ(std::vector<float>(map.variance_map().begin(), map.variance_map().end()),
              (std::vector<float>{36, 2.25f}));
    EXPECT_EQ(map.shot_noise(), 1);
}

TEST(Camera, a_place_on_the_sensor_without_maps_is_refused) {
    Camera camera;
    camera.roi_x = 5;
    EXPECT_HAS(message_of(camera), "begin at (5, 0) of the sensor, and the camera has no maps");
}

TEST(Camera, maps_are_cut_at_the_region_of_interest) {
    Camera camera = mapped();
    camera.roi_x = 1, camera.roi_y = 1;
    EXPECT_EQ(converted<std::uint16_t>(camera, 2, 1, {114, 115}, PixelType::uint16), (std::vector<float>{40, 80}));
    const CameraView view(camera, 2, 1);
    EXPECT_EQ(std::vector<float>(view.variance_map().begin(), view.variance_map().end()), (std::vector<float>{25, 36}));
    EXPECT_FLOAT_EQ(view.variance_scalar(), 30.5f);  // the median of two
}

TEST(Camera, one_noisy_pixel_does_not_change_the_noise_of_all) {
    Camera camera = mapped();
    camera.readnoise_e.map = {1, 2, 2, 2, 1, 1000};
    EXPECT_EQ(CameraView(camera, 3, 2).variance_scalar(), 4);
}

TEST(Camera, masked_pixels_take_the_mean_of_good_ones_around_and_a_large_variance) {
    Camera camera;
    camera.sensor_width = 4, camera.sensor_height = 3, camera.readnoise_e.scalar = 2;
    camera.masked.assign(12, 0);
    camera.masked[5] = 1, camera.masked[11] = 3;
    const std::vector<float> counts{1, 2, 3, 10, 4, 9999, 5, 10, 6, 7, 8, 5000};
    const std::vector<float> mended{1, 2, 3, 10, 4, 4.5f, 5, 10, 6, 7, 8, 23.0f / 3};
    EXPECT_EQ(converted<float>(camera, 4, 3, counts, PixelType::float32), mended);
    const CameraView view(camera, 4, 3);
    EXPECT_EQ(view.masked_pixels(), 2u);
    EXPECT_EQ(view.variance_scalar(), 4);
    for (std::size_t k = 0; k < 12; ++k)
        EXPECT_EQ(view.pixel(k).variance_e2, camera.masked[k] ? masked_variance_e2 : 4);
    // Only pixels within the window are known: 2, 3, 5, 7 and 8 of the neighbours of (1, 1).
    float window[6];
    const float cut[] = {2, 3, 9999, 5, 7, 8};
    view.window_to_photoelectrons(cut, 1, 0, 2, 3, window);
    EXPECT_EQ(window[2], 5);
    camera.roi_x = 1, camera.roi_y = 1;
    EXPECT_EQ(converted<float>(camera, 2, 2, {7, 1, 2, 3}, PixelType::float32), (std::vector<float>{2, 1, 2, 3}));
}

TEST(Camera, a_movie_of_masked_pixels_alone_is_refused) {
    Camera camera;
    camera.sensor_width = 2, camera.sensor_height = 1, camera.masked = {1, 2};
    EXPECT_HAS(message_of(camera, 2, 1), "all 2x1 pixels are masked as bad");
    camera.masked[0] = 0;
    EXPECT_EQ(CameraView(camera, 2, 1).masked_pixels(), 1u);
}

TEST(Camera, relative_qe_divides_signal_and_noise) {
    Camera camera = mapped();
    camera.relative_qe.map = {0.5f, 1, 1, 1, 1, 2};
    EXPECT_EQ(converted<std::uint16_t>(camera, 3, 2, {110, 101, 102, 103, 104, 115}, PixelType::uint16),
              (std::vector<float>{10, 0, 0, 0, 0, 40}));
    EXPECT_EQ(CameraView(camera, 3, 2).variance_map()[0], 4);  // (1 / 0.5)^2
    EXPECT_EQ(CameraView(camera, 3, 2).variance_map()[5], 9);  // (6 / 2)^2
}

TEST(Camera, em_gain_divides_signal_and_noise_and_doubles_shot_noise) {
    Camera camera;
    camera.kind = CameraKind::EMCCD;
    camera.offset_adu.scalar = 200, camera.gain_e_per_adu.scalar = 10, camera.readnoise_e.scalar = 50,
    camera.em_gain = 100;
    EXPECT_EQ(converted<std::uint16_t>(camera, 1, 1, {1200}, PixelType::uint16), (std::vector<float>{100}));
    const CameraView view(camera, 1, 1);
    EXPECT_EQ(view.excess_noise(), 2);
    EXPECT_FLOAT_EQ(view.variance_scalar(), 0.25f);
}

TEST(Camera, counts_that_are_no_numbers_become_nan_and_are_counted) {
    const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
    for (const Camera& camera : {Camera{}, [] {
                                     Camera c = mapped();
                                     c.offset_adu.map.assign(6, 0), c.gain_e_per_adu.map.assign(6, 1);
                                     return c;
                                 }()}) {
        int bad = 0;
        const auto got = converted<float>(camera, 2, 2, {1, nan, -infinity, 4}, PixelType::float32, &bad);
        EXPECT_EQ(got[0], 1);
        EXPECT_TRUE(std::isnan(got[1]) && std::isnan(got[2]));
        EXPECT_EQ(got[3], 4);
        EXPECT_EQ(bad, 2);
    }
}

TEST(Camera, a_value_out_of_range_is_named_with_the_way_out) {
    Camera camera;
    for (float gain : {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        camera.gain_e_per_adu.scalar = gain;
        EXPECT_HAS(message_of(camera), "camera gain");
        EXPECT_HAS(message_of(camera), "`gain=0.5`");
    }
    camera = Camera{};
    camera.offset_adu.scalar = 1e7f;
    EXPECT_HAS(message_of(camera), "camera offset 10000000 is outside -1000000 to 1000000");
    camera = Camera{};
    camera.readnoise_e.scalar = -1;
    EXPECT_HAS(message_of(camera), "camera read noise -1 is outside 0");
    camera = Camera{};
    camera.relative_qe.scalar = 0;
    EXPECT_HAS(message_of(camera), "camera relative QE 0");
    camera = Camera{};
    camera.em_gain = 0.5;
    EXPECT_HAS(message_of(camera), "EM gain 0.5 is outside 1");
}

TEST(Camera, a_bad_pixel_of_a_map_is_named) {
    Camera camera = mapped();
    camera.gain_e_per_adu.map[4] = 0;
    EXPECT_HAS(message_of(camera), "camera gain 0 at pixel (1, 1)");
}

TEST(Camera, maps_of_the_wrong_size) {
    Camera camera = mapped();
    EXPECT_HAS(message_of(camera, 4, 2), "the camera maps cover 3x2 pixels, the movie is 4x2 at (0, 0)");
    camera.roi_x = 2;
    EXPECT_HAS(message_of(camera), "the movie is 2x2 at (2, 0) of the sensor: give the movie's corner");
    camera = mapped();
    camera.roi_y = -1;
    EXPECT_HAS(message_of(camera), "at (0, -1)");
    camera = mapped();
    camera.readnoise_e.map.pop_back();
    EXPECT_HAS(message_of(camera), "camera read noise map has 5 values, the sensor 6 pixels");
    camera = mapped();
    camera.masked = {1, 0};
    EXPECT_HAS(message_of(camera), "camera mask has 2 values, the sensor 6 pixels");
}

TEST(Camera, warns_of_a_gain_map_upside_down) {
    Camera camera = mapped();
    camera.gain_e_per_adu.map = {0.45f, 0.5f, 0.48f, 0.46f, 0.5f, 0.49f};
    camera.readnoise_e.map = {2.3f, 1.9f, 2, 2.2f, 2.1f, 9};
    EXPECT_TRUE(camera_warnings(camera).empty());
    for (std::size_t k = 0; k < 6; ++k) {  // the same camera with an inverted gain, and noise maps in ADU
        const float gain = camera.gain_e_per_adu.map[k];
        camera.readnoise_e.map[k] /= gain * gain;
        camera.gain_e_per_adu.map[k] = 1 / gain;
    }
    ASSERT_EQ(camera_warnings(camera).size(), 1u);
    EXPECT_HAS(camera_warnings(camera)[0], "upside down");
    camera.gain_e_per_adu.map.assign(6, 1000);
    EXPECT_HAS(camera_warnings(camera)[0], "no camera has");
}
