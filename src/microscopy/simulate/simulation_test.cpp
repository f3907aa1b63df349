// Tests of simulated movies: independent of the order of reading, consistent with their truth, and with molecules on
// their structures.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "glint/error.hpp"
#include "glint/simulate.hpp"
#include "simulate/exposure.hpp"
#include "tests/expect_error.hpp"
#include "tests/typical_psf.hpp"

using namespace glint;

namespace {

SimulateOptions small() {
    SimulateOptions options;
    options.psf.sigma_nm = 130;
    options.width = 40, options.height = 30, options.frames = 60, options.spots_per_frame = 4;
    return options;
}

Camera plain_camera() {
    Camera camera;
    camera.offset_adu.scalar = 100;
    camera.gain_e_per_adu.scalar = 0.5f;
    camera.readnoise_e.scalar = 1.5f;
    return camera;
}

SimulateOptions astigmatic_beads() {
    SimulateOptions options;
    options.structure = Structure::beads;
    options.psf.model = PsfModel::AstigmaticXYZNB;
    options.psf.curve = {.sx0_nm = 140, .sy0_nm = 140, .gamma_nm = 200, .d_nm = 300};
    options.spots_per_frame = 4, options.frames = 21, options.z_range_nm = 400;
    return options;
}

const std::uint16_t* counts(const FrameBlock& block, int frame) {
    return reinterpret_cast<const std::uint16_t*>(block.frame(frame));
}

/// Returns the expected photoelectrons of a frame, computed from its truth.
std::vector<double> mean_of(const SimulateOptions& options, const Localizations& truth) {
    std::vector<double> mean(std::size_t(options.width) * options.height, options.background);
    const PsfInDouble psf(options.psf, options.pixel_size_nm);
    for (std::size_t k = 0; k < truth.size(); ++k)
        add_spot(make_spot(psf, truth.x_px[k], truth.y_px[k], truth.z_nm.empty() ? 0 : truth.z_nm[k] / 1000,
                           truth.photons[k]),
                 options.width, options.height, mean);
    return mean;
}

}  // namespace

TEST(Simulation, is_the_same_in_whatever_blocks_it_is_read) {
    const Simulation simulation(small(), plain_camera());
    FrameBlock whole, part;
    simulation.read(0, 60, whole);
    for (const auto& [first, count] : {std::pair{59, 1}, {7, 13}, {0, 1}}) {
        simulation.read(first, count, part);
        EXPECT_EQ(part.first_frame, first);
        EXPECT_EQ(0, std::memcmp(part.bytes.data(), whole.frame(first), part.bytes.size()));
    }
    const Localizations all = simulation.truth(0, 60), some = simulation.truth(7, 13);
    const auto begin = std::lower_bound(all.frame.begin(), all.frame.end(), 7u) - all.frame.begin();
    ASSERT_FALSE(some.x_px.empty());
    EXPECT_TRUE(std::equal(some.x_px.begin(), some.x_px.end(), all.x_px.begin() + begin));
    EXPECT_TRUE(std::equal(some.photons.begin(), some.photons.end(), all.photons.begin() + begin));
}

TEST(Simulation, stops_when_asked) {
    const StopFlag stop(true);
    SimulateOptions options = small();
    options.stop = &stop;
    EXPECT_THROW(Simulation(options, plain_camera()).truth(0, 60), Cancelled);
    options.drift_nm = 100;
    EXPECT_THROW(Simulation(options, plain_camera()), Cancelled);
}

TEST(Simulation, a_truth_beyond_all_memory_is_refused_with_its_size) {
    SimulateOptions options = small();
    options.spots_per_frame = 1e6, options.frames = 4'000'000'000;
    const Simulation simulation(options, plain_camera());
    // 48 bytes per emission and half as many for sorting, and 24 per row.
    test::expect_error<OptionError>(
        [&] { simulation.truth(0, options.frames); },
        {"1e+06 spots per frame in 4000000000 frames are 4e+15 rows of truth, which take at "
         "least 3.84e+08 GB of memory, of which"});
}

TEST(Simulation, a_z_beyond_the_calibration_is_reported) {
    SimulateOptions options = small();
    options.z_range_nm = 5000;
    EXPECT_EQ(beyond_calibration(options), "") << "no calibration";
    options.psf = test::typical_psf(PsfModel::AstigmaticXYZNB);
    EXPECT_NE(beyond_calibration(options).find("z from -5000 to 5000 nm reaches beyond the -600 to 600 nm"),
              std::string::npos)
        << beyond_calibration(options);
    options.z_range_nm = 600;
    EXPECT_EQ(beyond_calibration(options), "");
}

TEST(Simulation, another_seed_gives_another_movie) {
    SimulateOptions options = small();
    FrameBlock one, two;
    Simulation(options, plain_camera()).read(0, 2, one);
    options.seed = 2;
    Simulation(options, plain_camera()).read(0, 2, two);
    EXPECT_NE(one.bytes, two.bytes);
}

TEST(Simulation, counts_have_the_mean_and_noise_of_model_and_camera) {
    SimulateOptions options = small();
    const Simulation simulation(options, plain_camera());
    FrameBlock block;
    simulation.read(0, 60, block);
    double sum = 0, squares = 0;
    int n = 0;
    for (int frame = 0; frame < 60; ++frame) {
        const std::vector<double> mean = mean_of(options, simulation.truth(frame, 1));
        for (std::size_t k = 0; k < mean.size(); ++k, ++n) {
            const double electrons = (counts(block, frame)[k] - 100.0) * 0.5;
            const double variance = mean[k] + 1.5 * 1.5 + 0.25 / 12;  // the last term: rounding to whole counts
            const double z = (electrons - mean[k]) / std::sqrt(variance);
            sum += z, squares += z * z;
        }
    }
    EXPECT_NEAR(sum / n, 0, 4 / std::sqrt(n));
    EXPECT_NEAR(squares / n, 1, 4 * std::sqrt(2.3 / n));
}

TEST(Simulation, astigmatic_truth_has_the_z_that_was_drawn) {
    SimulateOptions options = small();
    options.psf = {PsfModel::AstigmaticXYZNB, 0, {.sx0_nm = 130, .sy0_nm = 130, .gamma_nm = 200, .d_nm = 400}};
    options.photons_min = options.photons_max = 1e6;  // so bright that an error of the model would exceed the noise
    const Simulation simulation(options, plain_camera());
    FrameBlock block;
    simulation.read(0, 20, block);
    const Localizations truth = simulation.truth(0, 20);
    ASSERT_EQ(truth.z_nm.size(), truth.size());
    for (float z : truth.z_nm) EXPECT_LE(std::abs(z), 400);
    for (int frame = 0; frame < 20; ++frame) {
        const std::vector<double> mean = mean_of(options, simulation.truth(frame, 1));
        for (std::size_t k = 0; k < mean.size(); ++k) {
            if (mean[k] > 30000) continue;  // clipped at 65535 counts
            EXPECT_NEAR((counts(block, frame)[k] - 100.0) * 0.5, mean[k],
                        6.5 * std::sqrt(mean[k] + 3) + 0.01 * mean[k]);
        }
    }
}

TEST(Simulation, truth_has_the_shape_of_each_spot) {
    SimulateOptions options = small();
    options.psf = {PsfModel::AstigmaticXYZNB, 0, {.sx0_nm = 130, .sy0_nm = 150, .gamma_nm = 200, .d_nm = 400}};
    Localizations truth = Simulation(options, plain_camera()).truth(0, 20);
    ASSERT_EQ(truth.sx_px.size(), truth.size());
    ASSERT_EQ(truth.sy_px.size(), truth.size());
    for (std::size_t k = 0; k < truth.size(); ++k) {
        EXPECT_NEAR(truth.sx_px[k], options.psf.curve.sigma_x_nm(truth.z_nm[k]) / 100, 1e-5);
        EXPECT_NEAR(truth.sy_px[k], options.psf.curve.sigma_y_nm(truth.z_nm[k]) / 100, 1e-5);
    }
    options.psf = {PsfModel::GaussianXYNBSXSY, 140, {}};
    truth = Simulation(options, plain_camera()).truth(0, 20);
    EXPECT_EQ(truth.sx_px, std::vector<float>(truth.size(), 1.4f));
    EXPECT_EQ(truth.sy_px, truth.sx_px);
    EXPECT_TRUE(truth.z_nm.empty());
}

TEST(Simulation, as_many_spots_are_on_as_asked_for_as_long_as_asked) {
    SimulateOptions options = small();
    options.frames = 20000, options.spots_per_frame = 3, options.on_frames = 4;
    options.structure = Structure::random;
    const Localizations truth = Simulation(options, plain_camera()).truth(0, options.frames);
    // On-times are correlated: the count's variance is rate * E[T^2] = spots / m * (2 m^2 - m) per frame.
    const double spread = std::sqrt(20000 * 3.0 * (2 * 4 - 1));
    EXPECT_NEAR(double(truth.size()), 60000, 4 * spread);
    std::map<float, int> on_frames;  // x identifies a molecule
    for (float x : truth.x_px) ++on_frames[x];
    EXPECT_NEAR(double(truth.size()) / double(on_frames.size()), 4, 4 * std::sqrt(12.0 / 15000) + 0.01);
    double photons = 0;
    for (float p : truth.photons) photons += p;
    EXPECT_NEAR(photons / double(truth.size()), 1250, 4 * 1500 / std::sqrt(12.0 * 60000));
    EXPECT_EQ(truth.frames, 20000);
}

TEST(Simulation, the_movie_starts_in_the_steady_state) {
    SimulateOptions options = small();
    options.spots_per_frame = 5000, options.on_frames = 8;
    const Localizations first = Simulation(options, plain_camera()).truth(0, 1);
    EXPECT_NEAR(double(first.size()), 5000, 4 * std::sqrt(5000.0));
}

TEST(Simulation, positions_stay_in_the_field_of_any_shape) {
    for (Structure structure : {Structure::microtubules, Structure::rings, Structure::random})
        for (const auto& [width, height] : {std::pair{1, 1}, {64, 1}, {2, 300}, {64, 64}}) {
            SimulateOptions options = small();
            options.structure = structure, options.width = width, options.height = height;
            options.spots_per_frame = 100, options.frames = 5;
            const Localizations truth = Simulation(options, plain_camera()).truth(0, 5);
            EXPECT_GT(truth.size(), 300u);
            for (std::size_t k = 0; k < truth.size(); ++k) {
                EXPECT_TRUE(truth.x_px[k] >= 0 && truth.x_px[k] <= float(width - 1));
                EXPECT_TRUE(truth.y_px[k] >= 0 && truth.y_px[k] <= float(height - 1));
            }
        }
}

TEST(Simulation, rings_have_their_radius) {
    SimulateOptions options = small();
    options.structure = Structure::rings;
    options.width = options.height = 5;  // one ring
    options.spots_per_frame = 2000, options.frames = 1, options.on_frames = 1;
    const Localizations truth = Simulation(options, plain_camera()).truth(0, 1);
    double x = 0, y = 0, radius = 0;
    for (std::size_t k = 0; k < truth.size(); ++k) x += truth.x_px[k], y += truth.y_px[k];
    x /= double(truth.size()), y /= double(truth.size());
    for (std::size_t k = 0; k < truth.size(); ++k) radius += std::hypot(truth.x_px[k] - x, truth.y_px[k] - y);
    EXPECT_NEAR(100 * radius / double(truth.size()), 55, 2);
}

TEST(Simulation, molecules_turn_on_again_at_their_place) {
    SimulateOptions options = small();
    options.frames = 4000, options.blinks = 5;
    const Localizations truth = Simulation(options, plain_camera()).truth(0, options.frames);
    std::map<double, std::pair<float, float>> place;
    for (std::size_t k = 0; k < truth.size(); ++k) {
        const auto [entry, is_new] =
            place.try_emplace(truth.extra.at("molecule").values[k], truth.x_px[k], truth.y_px[k]);
        EXPECT_EQ(entry->second, std::pair(truth.x_px[k], truth.y_px[k]));
    }
    // 4000 * 4 / 3 / 5 molecules turn on a Poisson-distributed number of times. exp(-5) of them never turn on.
    const double molecules =
        std::round(double(options.frames) * options.spots_per_frame / options.on_frames / options.blinks);
    EXPECT_NEAR(double(place.size()), molecules * (1 - std::exp(-5.0)), 4 * std::sqrt(molecules * std::exp(-5.0)) + 1);
    EXPECT_TRUE(truth.extra.at("molecule").is_integer);
}

TEST(Simulation, the_sample_drifts_as_the_truth_says) {
    SimulateOptions still = small(), drifting = small();
    still.frames = drifting.frames = 4000;
    drifting.drift_nm = 300;
    const Localizations a = Simulation(still, plain_camera()).truth(0, 4000);
    const Localizations b = Simulation(drifting, plain_camera()).truth(0, 4000);
    ASSERT_EQ(a.size(), b.size());
    std::vector<double> way(4000);
    for (std::size_t k = 0; k < a.size(); ++k) {
        way[a.frame[k]] = b.extra.at("drift_x_nm").values[k];
        EXPECT_NEAR(b.x_px[k] - a.x_px[k], b.extra.at("drift_x_nm").values[k] / 100, 1e-4);
        EXPECT_NEAR(b.y_px[k] - a.y_px[k], b.extra.at("drift_y_nm").values[k] / 100, 1e-4);
    }
    // Steps of a random walk: 300 nm / sqrt(3999) RMS, over pairs of frames that both have molecules.
    double sum = 0;
    int steps = 0;
    for (std::size_t k = 1; k < way.size(); ++k)
        if (way[k] != 0 && way[k - 1] != 0) sum += std::pow(way[k] - way[k - 1], 2), ++steps;
    EXPECT_NEAR(sum / steps / (300.0 * 300 / 3999), 1, 4 * std::sqrt(2.0 / steps));
}

TEST(Simulation, refuses_what_makes_no_sense) {
    const auto refused = [](auto change) {
        SimulateOptions options = small();
        change(options);
        EXPECT_THROW(Simulation(options, plain_camera()), OptionError);
    };
    refused([](SimulateOptions& o) { o.psf.sigma_nm = 0; });
    refused([](SimulateOptions& o) { o.width = 0; });
    refused([](SimulateOptions& o) { o.height = 1 << 30; });
    refused([](SimulateOptions& o) { o.frames = 0; });
    refused([](SimulateOptions& o) { o.on_frames = 0.5; });
    refused([](SimulateOptions& o) { o.spots_per_frame = NAN; });
    refused([](SimulateOptions& o) { o.photons_max = 1; });
    refused([](SimulateOptions& o) { o.pixel_size_nm = -100; });
    FrameBlock block;
    EXPECT_THROW(Simulation(small(), plain_camera()).read(50, 11, block), OptionError);
    EXPECT_THROW(Simulation(small(), plain_camera()).truth(-1, 2), OptionError);
    Camera camera = plain_camera();
    camera.gain_e_per_adu.scalar = 0;
    EXPECT_THROW(Simulation(small(), camera), OptionError);
}

TEST(Simulation, beads_stay_in_place_while_z_rises) {
    SimulateOptions options = astigmatic_beads();
    const Localizations truth = Simulation(options, plain_camera()).truth(0, options.frames);
    ASSERT_EQ(truth.size(), 4u * 21u);
    for (std::size_t k = 0; k < truth.size(); ++k) {
        EXPECT_EQ(truth.frame[k], k / 4);
        EXPECT_NEAR(truth.z_nm[k], -400 + 40.0 * double(k / 4), 1e-3);
        EXPECT_EQ(truth.x_px[k], truth.x_px[k % 4]);
        EXPECT_EQ(truth.photons[k], truth.photons[k % 4]);
        EXPECT_EQ(truth.extra.at("molecule").values[k], double(k % 4));
    }
    for (std::size_t a = 0; a < 4; ++a) {
        for (const float at : {truth.x_px[a], truth.y_px[a]}) EXPECT_TRUE(at >= 25 && at <= 127 - 25);
        for (std::size_t b = 0; b < a; ++b)
            EXPECT_GE(std::hypot(truth.x_px[a] - truth.x_px[b], truth.y_px[a] - truth.y_px[b]), 25);
    }
    const Localizations part = Simulation(options, plain_camera()).truth(7, 2);
    EXPECT_TRUE(std::equal(part.x_px.begin(), part.x_px.end(), truth.x_px.begin() + 28));
    EXPECT_EQ(part.z_nm.front(), truth.z_nm[28]);
}

TEST(Simulation, beads_that_do_not_fit_are_refused) {
    const auto expect = [](const SimulateOptions& options, std::initializer_list<const char*> words) {
        test::expect_error<OptionError>([&] { Simulation(options, plain_camera()); }, words);
    };
    SimulateOptions options = astigmatic_beads();
    options.spots_per_frame = 30;
    expect(options, {"of 30 beads fit into 128x128 px", "25 px from each other"});
    options.width = 40;
    expect(options, {"only 0 of 30 beads"});
    options.spots_per_frame = 2.5;
    expect(options, {"2.5 beads", "whole number"});
    options = astigmatic_beads(), options.blinks = 2;
    expect(options, {"do not blink"});
    options = astigmatic_beads(), options.psf = {}, options.psf.sigma_nm = 130;
    expect(options, {"needs a PSF that changes with z", "GaussianXYNB"});
}
