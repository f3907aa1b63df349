// Tests of camera calibration: the maps agree with their stated errors, and unusable movies are refused.
// SPDX-License-Identifier: MIT
#include "glint/calibrate_camera.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "analysis/frame_statistics.hpp"
#include "glint/error.hpp"
#include "simulate/random.hpp"
#include "tests/expect_error.hpp"

using namespace glint;
using glint::test::expect_error;

namespace {

constexpr int edge = 32, pixels = edge * edge;

struct Sensor {
    std::vector<double> offset, gain, read_variance;
};

Sensor sensor(int count = pixels) {
    Sensor s;
    for (int k = 0; k < count; ++k) {
        Random random(7, Stream::structure, std::uint64_t(k));
        s.offset.push_back(100 + 2 * random.normal());
        s.gain.push_back(0.5 * (1 + 0.05 * random.normal()));
        s.read_variance.push_back(4 * std::exp(0.3 * random.normal()));
    }
    return s;
}

/// `light(f, k, random)`: expected photoelectrons in frame f and pixel k.
template <class Light>
std::unique_ptr<Movie> movie_of(const Sensor& s, int frames, std::uint64_t seed, int side, const Light& light) {
    FrameBlock block{0, frames, side, side, PixelType::uint16, {}};
    block.bytes.resize(std::size_t(frames) * block.frame_bytes());
    auto* out = reinterpret_cast<std::uint16_t*>(block.bytes.data());
    for (int f = 0; f < frames; ++f) {
        Random random(seed, Stream::frame_noise, std::uint64_t(f));
        const double flicker = random.normal();
        for (std::size_t k = 0; k < s.gain.size(); ++k) {
            const double e = light(f, k, flicker);
            const double adu = (e > 0 ? random.poisson(e) : 0) / s.gain[k] + s.offset[k] +
                               std::sqrt(s.read_variance[k]) * random.normal();
            *out++ = std::uint16_t(std::clamp(std::lround(adu), 0L, 65535L));
        }
    }
    return memory_movie(std::move(block), "light");
}

std::unique_ptr<Movie> movie(const Sensor& s, int frames, double light_e, std::uint64_t seed, double flicker = 0,
                             int side = edge) {
    return movie_of(s, frames, seed, side,
                    [&](int, std::size_t, double normal) { return light_e * (1 + flicker * normal); });
}

/// Light that rises or falls from `first_e` to `last_e`.
std::unique_ptr<Movie> ramp(const Sensor& s, int frames, double first_e, double last_e, std::uint64_t seed) {
    return movie_of(s, frames, seed, edge,
                    [&](int f, std::size_t, double) { return first_e + (last_e - first_e) * f / (frames - 1); });
}

CameraCalibration calibrate_ramp(Movie& dark, Movie& light) {
    CalibrateCameraOptions options;
    options.ramps = {&light};
    return calibrate_camera(dark, {}, options);
}

CameraCalibration calibrate(const Sensor& s, double flicker = 0) {
    const auto dark = movie(s, 1000, 0, 1), dim = movie(s, 1000, 100, 2, flicker),
               bright = movie(s, 1000, 400, 3, flicker);
    return calibrate_camera(*dark, {dim.get(), bright.get()});
}

/// Checks errors divided by stated errors. The mean must be within 4 standard errors of 0. The standard deviation must
/// be within 4 of its standard errors of 1, plus 2 % for the skew of variances.
void expect_pulls(const MeasuredMap& map, const std::vector<double>& truth, double added, const char* what) {
    double sum = 0, squares = 0;
    for (std::size_t k = 0; k < pixels; ++k) {
        const double pull = (map.value[k] - truth[k] - added) / map.error[k];
        sum += pull, squares += pull * pull;
    }
    EXPECT_NEAR(sum / pixels, 0, 4 / std::sqrt(pixels) + 0.05) << what;
    EXPECT_NEAR(std::sqrt(squares / pixels), 1, 4 / std::sqrt(2.0 * pixels) + 0.02) << what;
}

}  // namespace

TEST(CalibrateCamera, maps_miss_the_truth_by_their_stated_errors) {
    const Sensor s = sensor();
    const CameraCalibration c = calibrate(s);
    constexpr double rounding = 1.0 / 12;  // variance of rounding to whole counts
    expect_pulls(c.offset_adu, s.offset, 0, "offset");
    expect_pulls(c.readvar_adu2, s.read_variance, rounding, "read variance");
    expect_pulls(c.gain_e_per_adu, s.gain, 0, "gain");
    EXPECT_NEAR(c.sensor_gain, 0.5, 4 * c.sensor_gain_error);
    EXPECT_NEAR(c.gain_spread, 0.05, 4 * 0.05 / std::sqrt(pixels));
    EXPECT_NEAR(c.mean_chi2, 1, 4 * std::sqrt(2.0 / pixels) + 0.02);
}

/// Bad pixels of every kind among 256 x 256 good pixels. At least 99 % must be found, with at most 0.01 % false alarms.
TEST(CalibrateCamera, bad_pixels_are_found_and_good_ones_are_not) {
    constexpr int large = 256, n = large * large, each = 100;
    Sensor s = sensor(n);
    std::vector<PixelFault> truth(n, PixelFault::none);
    for (int k = 0; k < 3 * each; ++k) {
        const std::size_t at = std::size_t(k) * 211 + 17;
        truth[at] = PixelFault(1 + k % 3);
        if (truth[at] == PixelFault::hot) s.offset[at] += 200;
        if (truth[at] == PixelFault::dead) s.gain[at] = INFINITY, s.read_variance[at] = k % 2 ? 0 : 4;
        if (truth[at] == PixelFault::noisy) s.read_variance[at] *= 400;
    }
    const auto dark = movie(s, 200, 0, 1, 0, large), light = movie(s, 200, 300, 2, 0, large);
    const CameraCalibration c = calibrate_camera(*dark, {light.get()});
    int found = 0, wrong = 0;
    for (std::size_t k = 0; k < truth.size(); ++k)
        (truth[k] == PixelFault::none ? wrong : found) +=
            truth[k] == PixelFault::none ? c.faults[k] != PixelFault::none : c.faults[k] == truth[k];
    EXPECT_GE(found, 0.99 * 3 * each);
    EXPECT_LE(wrong, 1e-4 * n);
    const double mean_slope = 2 * (1 + 0.05 * 0.05);  // of 1 / gain, to second order in the spread
    EXPECT_NEAR(c.sensor_gain, 1 / mean_slope, 4 * c.sensor_gain_error);
    EXPECT_LT(c.expected_false_alarms, 1);
    for (std::size_t k = 0; k < truth.size(); ++k)
        if (c.faults[k] != PixelFault::none) {
            EXPECT_FLOAT_EQ(c.gain_e_per_adu.value[k], float(c.sensor_gain));
        }
}

TEST(CalibrateCamera, without_light_hot_constant_and_noisy_pixels_are_found) {
    Sensor s = sensor();
    s.offset[10] += 100, s.read_variance[20] = 0, s.read_variance[30] = 2000;
    const CameraCalibration c = calibrate_camera(*movie(s, 500, 0, 1), {});
    EXPECT_EQ(c.faults[10], PixelFault::hot);
    EXPECT_EQ(c.faults[20], PixelFault::dead);
    EXPECT_EQ(c.faults[30], PixelFault::noisy);
    EXPECT_EQ(c.count(PixelFault::none), pixels - 3);
}

TEST(CalibrateCamera, a_camera_with_little_noise_has_no_dead_pixels) {
    Sensor s = sensor();
    s.read_variance.assign(pixels, 1e-4);
    EXPECT_EQ(calibrate_camera(*movie(s, 20, 0, 1), {}).count(PixelFault::dead), 0);
}

TEST(CalibrateCamera, saturated_levels_are_left_out_for_that_pixel) {
    Sensor s = sensor();
    s.gain[5] = 0.5 / 150;  // 100 photoelectrons are 30,000 ADU; 400 exceed 16 bits
    const CameraCalibration c = calibrate(s);
    EXPECT_EQ(c.saturated, 1);
    EXPECT_EQ(c.chi2[5], 0);
    EXPECT_NEAR(c.gain_e_per_adu.value[5] / s.gain[5], 1, 5 * std::sqrt(2.0 / 1000));
}

TEST(CalibrateCamera, a_pixel_with_an_uncertain_gain_gets_that_of_the_sensor) {
    const Sensor s = sensor();
    const auto dark = movie(s, 50, 0, 1), light = movie(s, 50, 100, 2);
    const CameraCalibration c = calibrate_camera(*dark, {light.get()});
    EXPECT_GT(c.pixel_gain_error, 0.15);  // at least sqrt(2 / 49)
    EXPECT_LE(c.own_gains, pixels / 100);
}

TEST(CalibrateCamera, light_that_varies_from_frame_to_frame_does_not_change_the_gain) {
    const CameraCalibration c = calibrate(sensor(), 0.05);
    EXPECT_NEAR(c.levels[1].light_spread, 0.05, 4 * 0.05 / std::sqrt(2.0 * 1000));
    EXPECT_NEAR(c.sensor_gain, 0.5, 4 * c.sensor_gain_error);
}

TEST(CalibrateCamera, gains_from_ramps_miss_the_truth_by_their_stated_errors) {
    const Sensor s = sensor();
    const auto dark = movie(s, 1000, 0, 1);
    for (const bool rises : {true, false}) {
        const auto light = ramp(s, 4000, rises ? 0 : 1000, rises ? 1000 : 0, rises ? 2 : 3);
        const CameraCalibration c = calibrate_ramp(*dark, *light);
        expect_pulls(c.gain_e_per_adu, s.gain, 0, rises ? "rises" : "falls");
        EXPECT_NEAR(c.sensor_gain, 0.5 / (1 + 0.05 * 0.05), 4 * c.sensor_gain_error);
        EXPECT_NEAR(c.mean_chi2, 1, 4 * std::sqrt(2.0 / 9 / pixels) + 0.02);
        ASSERT_EQ(c.levels.size(), 10u);
        EXPECT_TRUE(c.levels[0].of_ramp);
        EXPECT_EQ(c.levels[1].name, "light, frames 400:800");
        EXPECT_EQ(c.count(PixelFault::none), pixels);
    }
}

/// Over 100 seeds, the sensor's gain deviates as much as its stated error. The chi^2 of 100 values has the standard
/// deviation sqrt(200).
TEST(CalibrateCamera, the_error_of_a_ramps_gain_is_right) {
    Sensor s = sensor();
    s.gain.assign(pixels, 0.5);
    constexpr int seeds = 100;
    double squares = 0;
    for (int seed = 0; seed < seeds; ++seed) {
        const auto dark = movie(s, 100, 0, std::uint64_t(1000 + seed)),
                   light = ramp(s, 200, 20, 400, std::uint64_t(2000 + seed));
        const CameraCalibration c = calibrate_ramp(*dark, *light);
        squares += std::pow((c.sensor_gain - 0.5) / c.sensor_gain_error, 2);
    }
    EXPECT_NEAR(squares, seeds, 4 * std::sqrt(2.0 * seeds));
}

TEST(CalibrateCamera, movies_without_a_ramp_are_refused) {
    const Sensor s = sensor();
    const auto dark = movie(s, 50, 0, 1), constant = movie(s, 100, 200, 2), brief = ramp(s, 19, 0, 100, 3);
    expect_error<InputError>([&] { calibrate_ramp(*dark, *constant); }, {"rises or falls by half", "`light`"});
    expect_error<InputError>([&] { calibrate_ramp(*dark, *brief); }, {"has 19 frames", "at least 20"});
    Sensor dark_sensor = s;
    for (double& offset : dark_sensor.offset) offset -= 5;
    expect_error<InputError>([&] { calibrate_ramp(*dark, *movie(dark_sensor, 100, 0, 4)); },
                             {"not brighter than the dark"});
}

/// If a ramp ends in saturation, the part before that is used.
TEST(CalibrateCamera, the_saturated_end_of_a_ramp_is_left_out) {
    const Sensor s = sensor();
    const auto dark = movie(s, 500, 0, 1),
               light = ramp(s, 2000, 100, 50000, 2);  // 65,535 ADU are 33,000 photoelectrons
    const CameraCalibration c = calibrate_ramp(*dark, *light);
    EXPECT_LT(c.levels.size(), 8u);
    EXPECT_NEAR(c.sensor_gain, 0.5 / (1 + 0.05 * 0.05), 4 * c.sensor_gain_error);
}

/// A lamp that warms up and moves its light over the sensor. From the variance over all frames, the gain would be a
/// third too low.
TEST(CalibrateCamera, light_that_drifts_differently_in_each_pixel_does_not_change_the_gain) {
    const Sensor s = sensor();
    constexpr int frames = 1000;
    const auto dark = movie(s, frames, 0, 1);
    const auto light = movie_of(s, frames, 2, edge, [](int f, std::size_t k, double) {
        return 400 * (1 + 0.1 * f / frames * (double(k % edge) / edge - 0.3) * 4);
    });
    const CameraCalibration c = calibrate_camera(*dark, {light.get()});
    EXPECT_GT(c.levels[0].drift, 0.02);
    EXPECT_NEAR(c.sensor_gain, 0.5 / (1 + 0.05 * 0.05), 4 * c.sensor_gain_error);
    expect_pulls(c.gain_e_per_adu, s.gain, 0, "drift");
    const std::vector<std::string> warnings = calibration_warnings(c);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("changed slowly and differently in each pixel"), std::string::npos);
    const auto steady = movie(s, frames, 400, 3);
    EXPECT_EQ(calibrate_camera(*dark, {steady.get()}).levels[0].drift, 0);
}

TEST(CalibrateCamera, light_that_flickers_is_in_the_stated_errors) {
    const Sensor s = sensor();
    expect_pulls(calibrate(s, 0.05).gain_e_per_adu, s.gain, 0, "flicker");
}

TEST(CalibrateCamera, warns_of_a_ramp_given_as_constant_light) {
    const Sensor s = sensor();
    const auto dark = movie(s, 500, 0, 1), light = ramp(s, 1000, 0, 400, 2);
    const CameraCalibration c = calibrate_camera(*dark, {light.get()});
    EXPECT_NEAR(c.sensor_gain, 0.5 / (1 + 0.05 * 0.05), 4 * c.sensor_gain_error);
    const std::vector<std::string> warnings = calibration_warnings(c);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("give the movie as a ramp (`ramp`)"), std::string::npos) << warnings[0];
}

TEST(CalibrateCamera, the_sample_for_a_plot_starts_with_good_pixels_and_contains_all_bad_ones) {
    Sensor s = sensor();
    s.offset[10] += 200, s.read_variance[30] = 4000;
    const CameraCalibration c = calibrate(s);
    ASSERT_EQ(c.sample.size(), 1002u);
    EXPECT_EQ(c.sample[1000], 10);
    EXPECT_EQ(c.sample[1001], 30);
    for (const LightLevel& level : c.levels) {
        ASSERT_EQ(level.sample_mean_adu.size(), 1002u);
        EXPECT_GT(level.sample_variance_adu2[1001], 3000);
    }
    EXPECT_TRUE(std::is_sorted(c.sample.begin(), c.sample.begin() + 1000));
}

TEST(CalibrateCamera, sums_of_the_largest_counts_are_exact) {
    FrameBlock block{0, 3, 2, 1, PixelType::uint16, {}};
    const std::uint16_t counts[] = {65535, 65534, 65534, 65534, 65535, 65534};
    block.bytes.resize(sizeof counts);
    std::memcpy(block.bytes.data(), counts, sizeof counts);
    const auto movie = memory_movie(std::move(block));
    const FrameStatistics statistics = frame_statistics(*movie, 0, 3, [](std::int64_t) {});
    EXPECT_FLOAT_EQ(statistics.variance[0], 1.0f / 3);
    EXPECT_EQ(statistics.variance[1], 0);
    EXPECT_EQ(statistics.step_variance, (std::vector<float>{0.5f, 0}));  // (1 + 1) / (2 * 2): 65535, 65534, 65535
    EXPECT_EQ(statistics.mean[1], 65534);
}

/// Ten frames with the value `count` in all pixels, except for a noisy part.
std::unique_ptr<Movie> constant(std::uint16_t count, double noisy_part = 0) {
    FrameBlock block;
    movie(sensor(), 10, 0, 5)->read(0, 10, block);
    auto* counts = reinterpret_cast<std::uint16_t*>(block.bytes.data());
    for (int k = 0; k < 10 * pixels; ++k)
        if (k % pixels >= noisy_part * pixels) counts[k] = count;
    return memory_movie(std::move(block), "dark");
}

TEST(CalibrateCamera, warns_of_dark_frames_without_noise) {
    for (const std::uint16_t count : {std::uint16_t(0), std::uint16_t(100)}) {
        const CameraCalibration c = calibrate_camera(*constant(count), {});
        EXPECT_EQ(c.offset_adu.value[7], count);
        EXPECT_EQ(c.readvar_adu2.value[7], 0);
        EXPECT_EQ(c.count(PixelFault::none), pixels);
        const std::vector<std::string> warnings = calibration_warnings(c);
        ASSERT_EQ(warnings.size(), 1u);
        EXPECT_EQ(warnings[0].find("1024 of 1024 pixels have the same count in all 10 dark frames"), 0u) << warnings[0];
        EXPECT_NE(warnings[0].find(count == 0 ? "higher offset" : "copies of one frame"), std::string::npos);
    }
    EXPECT_EQ(calibration_warnings(calibrate_camera(*constant(0, 0.4), {})).size(), 1u);
    EXPECT_TRUE(calibration_warnings(calibrate_camera(*constant(0, 0.6), {})).empty());  // the median pixel has noise
    EXPECT_TRUE(calibration_warnings(calibrate(sensor())).empty());
    expect_error<InputError>([&] { calibrate_camera(*constant(65535), {}); }, {"dark", "saturated", "without light"});
}

/// The counts of a movie, clipped at `limit`.
std::unique_ptr<Movie> clipped(Movie& movie, std::uint16_t limit) {
    FrameBlock block;
    movie.read(0, int(movie.info().frames), block);
    auto* counts = reinterpret_cast<std::uint16_t*>(block.bytes.data());
    for (std::size_t k = 0; k < block.bytes.size() / 2; ++k) counts[k] = std::min(counts[k], limit);
    return memory_movie(std::move(block), "clipped");
}

/// A 12-bit camera in a 16-bit file: 5 % and half of the counts are clipped.
TEST(CalibrateCamera, levels_that_saturate_below_the_types_largest_count_are_refused) {
    Sensor s = sensor();
    s.gain.assign(pixels, 0.5);
    const auto dark = movie(s, 200, 0, 1), good = movie(s, 300, 200, 2);
    for (const double light_e : {1960.0, 2000.0}) {
        const auto bright = clipped(*movie(s, 300, light_e, 3), 4095);
        expect_error<InputError>([&] { calibrate_camera(*dark, {bright.get()}); }, {"clipped", "4095", "less light"});
        expect_error<InputError>([&] { calibrate_camera(*dark, {good.get(), bright.get()}); }, {"clipped", "4095"});
    }
    const auto light = clipped(*ramp(s, 2000, 100, 4000, 4), 4095);
    const CameraCalibration c = calibrate_ramp(*dark, *light);
    EXPECT_EQ(c.levels.size(), 4u);  // 1,997 e- are 4,095 ADU, within the fifth of ten levels
    EXPECT_NEAR(c.sensor_gain, 0.5, 4 * c.sensor_gain_error);
    EXPECT_EQ(c.error_factor, 1);
    EXPECT_EQ(calibrate_camera(*dark, {good.get()}).saturated, 0);
}

/// Pixels near the limit have too little variance, although some of their counts are not clipped. Every pixel whose
/// mean is within 5 sd of the limit is left out.
TEST(CalibrateCamera, pixels_near_saturation_do_not_change_the_gain) {
    Sensor s = sensor();
    s.gain.assign(pixels, 0.5);
    for (std::size_t k = 0; k < pixels; ++k) s.offset[k] = 100 + 8.0 * double(k % 100);
    const double sd = 2 * std::sqrt(1500.0 + 1),
                 limit = 100 + 8 * 60 + 3000 + 5 * sd;  // pixels from 60 of 100 on are within 5 sd
    const auto dark = movie(s, 1000, 0, 1), light = clipped(*movie(s, 1000, 1500, 2), std::uint16_t(limit));
    const CameraCalibration c = calibrate_camera(*dark, {light.get()});
    EXPECT_NEAR(double(c.saturated), 0.4 * double(pixels),
                0.03 * double(pixels));  // the sd of the mean is 2.5 ADU, the step 8
    EXPECT_NEAR(c.sensor_gain, 0.5, 4 * c.sensor_gain_error);
}

/// At the brightest level, variance over mean is 6 % off. The stated error covers the effect on the gain.
TEST(CalibrateCamera, variances_that_miss_the_line_make_the_error_larger) {
    Sensor s = sensor();
    s.gain.assign(pixels, 0.5);
    const auto dark = movie(s, 500, 0, 1), dim = movie(s, 500, 200, 2), middle = movie(s, 500, 800, 3);
    Sensor bent = s;
    bent.gain.assign(pixels, 0.53);
    const auto bright = movie(bent, 500, 1600, 4);
    const CameraCalibration right = calibrate_camera(*dark, {dim.get(), middle.get()});
    EXPECT_EQ(right.error_factor, 1);
    const CameraCalibration c = calibrate_camera(*dark, {dim.get(), middle.get(), bright.get()});
    EXPECT_GT(c.error_factor, 5);
    EXPECT_GT(std::abs(c.sensor_gain - 0.5), 5 * right.sensor_gain_error);
    EXPECT_NEAR(c.sensor_gain, 0.5, 4 * c.sensor_gain_error);
    bent.gain.assign(pixels, 1);
    const auto far_off = movie(bent, 500, 3200, 5);
    expect_error<InputError>(
        [&] {
            calibrate_camera(*dark, {dim.get(), middle.get(), far_off.get()});
        },
        {"deviate from the line", "Leave out the brightest level"});
}

std::unique_ptr<Movie> joined(std::unique_ptr<Movie> a, std::unique_ptr<Movie> b) {
    std::vector<std::unique_ptr<Movie>> both;
    both.push_back(std::move(a)), both.push_back(std::move(b));
    return concatenate(std::move(both));
}

/// The variance between two halves that are d apart is d^2 / 4.
TEST(CalibrateCamera, warns_of_dark_movies_with_different_offsets) {
    Sensor s = sensor(), higher = s;
    s.read_variance.assign(pixels, 4), higher.read_variance = s.read_variance;
    const auto with = [&](double added) {
        for (std::size_t k = 0; k < pixels; ++k) higher.offset[k] = s.offset[k] + added;
        return joined(movie(s, 100, 0, 1), movie(higher, 100, 0, 2));
    };
    constexpr double read = 4 + 1.0 / 12;
    for (const double apart : {0.0, 0.3, 2.0}) {
        const CameraCalibration c = calibrate_camera(*with(apart), {});
        // The step variance of 200 frames contains one step between the halves: apart^2 / 398. The means add 2 % of
        // their median.
        EXPECT_NEAR(c.dark_change.share, apart * apart / 4 / read, 0.02 * apart * apart / 4 + 0.01) << apart;
        EXPECT_EQ(calibration_warnings(c).size(), apart == 2.0 ? 1u : 0u) << apart;
    }
    expect_error<InputError>([&] { calibrate_camera(*with(40), {}); }, {"light", "100.", "140.", "one camera setting"});
    const auto drifts = movie_of(s, 500, 1, edge, [](int f, std::size_t, double) { return 0.05 * f; });
    expect_error<InputError>([&] { calibrate_camera(*drifts, {}); }, {"light, frames 0:50", "frames 450:500"});
    // Another part of the sensor: the means agree, but pixels differ by 2 sqrt(2) ADU rms. The median is 0.455 * 8 / 4
    // of the variance.
    for (std::size_t k = 0; k < pixels; ++k) higher.offset[k] = s.offset[pixels - 1 - k];
    const CameraCalibration c = calibrate_camera(*joined(movie(s, 100, 0, 1), movie(higher, 100, 0, 2)), {});
    EXPECT_NEAR(c.dark_change.share, 0.455 * 2 / read, 0.05);
    EXPECT_EQ(calibration_warnings(c).size(), 1u);
}

/// Even with few dark frames, gains deviate from the truth by their errors. Over 40 seeds, chi^2 has the standard
/// deviation sqrt(80).
TEST(CalibrateCamera, few_dark_frames_bias_neither_gain_nor_read_noise) {
    Sensor s = sensor();
    s.gain.assign(pixels, 0.5);
    constexpr int seeds = 40;
    for (const int frames : {2, 3, 10}) {
        double squares = 0, sum = 0, readvar = 0;
        for (int seed = 0; seed < seeds; ++seed) {
            const auto dark = movie(s, frames, 0, std::uint64_t(10 + seed)),
                       dim = movie(s, 50, 50, std::uint64_t(110 + seed)),
                       bright = movie(s, 50, 300, std::uint64_t(210 + seed));
            const CameraCalibration c = calibrate_camera(*dark, {dim.get(), bright.get()});
            const double pull = (c.sensor_gain - 0.5) / c.sensor_gain_error;
            squares += pull * pull, sum += pull, readvar += c.sensor_readvar_adu2 / seeds;
        }
        EXPECT_NEAR(squares, seeds, 4 * std::sqrt(2.0 * seeds)) << frames;
        EXPECT_NEAR(sum / seeds, 0, 4 / std::sqrt(double(seeds))) << frames;
        // 4 is the median of a lognormal distribution, whose mean is 4.6 % higher. 1/12 is rounding.
        EXPECT_NEAR(readvar, 4 + 1.0 / 12, 0.08 * 4) << frames;
    }
}

/// An EM register multiplies by gamma-distributed factors. In the high-gain limit its excess noise factor is 2.
TEST(CalibrateCamera, em_gain_gives_the_gain_before_the_register) {
    constexpr int frames = 300;
    constexpr double gain = 15.6, em_gain = 300;
    const auto em_movie = [&](double light_e, std::uint64_t seed) {
        FrameBlock block{0, frames, edge, edge, PixelType::uint16, {}};
        block.bytes.resize(std::size_t(frames) * block.frame_bytes());
        auto* out = reinterpret_cast<std::uint16_t*>(block.bytes.data());
        Random random(seed, Stream::frame_noise, 0);
        for (int k = 0; k < frames * pixels; ++k) {
            const double electrons = light_e > 0 ? random.poisson(light_e) : 0;
            double multiplied = 0;
            for (int e = 0; e < int(electrons); ++e) multiplied -= em_gain * std::log(1 - random.uniform());
            *out++ = std::uint16_t(std::clamp(std::lround(200 + multiplied / gain + 5 * random.normal()), 0L, 65535L));
        }
        return memory_movie(std::move(block), "em");
    };
    const auto dark = em_movie(0, 1), dim = em_movie(20, 2), bright = em_movie(60, 3);
    CalibrateCameraOptions options;
    options.em_gain = em_gain;
    const CameraCalibration c = calibrate_camera(*dark, {dim.get(), bright.get()}, options);
    EXPECT_NEAR(c.sensor_gain, gain, 4 * c.sensor_gain_error);
    EXPECT_LT(c.sensor_gain_error, 0.01 * gain);
    EXPECT_EQ(c.em_gain, em_gain);
    const CameraCalibration without = calibrate_camera(*dark, {dim.get(), bright.get()});
    EXPECT_NEAR(without.sensor_gain * 2 * em_gain, c.sensor_gain, c.sensor_gain_error);  // the weights differ
    EXPECT_EQ(without.em_gain, 1);
}

TEST(CalibrateCamera, unusable_movies_are_refused) {
    const Sensor s = sensor();
    const auto dark = movie(s, 10, 0, 1), one = movie(s, 1, 50, 2), light = movie(s, 10, 50, 3);
    expect_error<InputError>([&] { calibrate_camera(*one, {}); }, {"1 frame has no variance", "at least 2"});
    expect_error<InputError>([&] { calibrate_camera(*light, {dark.get()}); }, {"not brighter than the dark"});
    const auto small = memory_movie(FrameBlock{0, 2, 4, 4, PixelType::uint16, std::vector<std::byte>(64)}, "small");
    expect_error<InputError>([&] { calibrate_camera(*dark, {small.get()}); }, {"small is 4x4", "32x32"});
    const auto full = movie(s, 10, 0, 1);
    FrameBlock block;
    full->read(0, 10, block);
    std::fill(block.bytes.begin(), block.bytes.end(), std::byte(255));
    const auto saturated = memory_movie(std::move(block), "full");
    expect_error<InputError>([&] { calibrate_camera(*dark, {saturated.get()}); }, {"full", "saturated", "less light"});
    FrameBlock floats{0, 2, edge, edge, PixelType::float32, std::vector<std::byte>(2 * pixels * 4)};
    reinterpret_cast<float*>(floats.bytes.data())[3] = NAN;
    const auto with_nan = memory_movie(std::move(floats), "floats");
    expect_error<InputError>([&] { calibrate_camera(*with_nan, {}); }, {"floats: 1 of 1024", "finite"});
    StopFlag stop{true};
    EXPECT_THROW(calibrate_camera(*dark, {}, {.progress = {}, .stop = &stop}), Cancelled);
}
