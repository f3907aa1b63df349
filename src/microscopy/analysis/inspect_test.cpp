// Tests that estimates of gain, offset and width lie within their stated errors of a known truth, or are withheld.
// SPDX-License-Identifier: MIT
#include "glint/inspect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "glint/simulate.hpp"
#include "tests/thorough.hpp"

using namespace glint;

namespace {

struct Conditions {
    double gain = 1, offset = 100, background = 10;
    float readnoise_e = 0;
    bool maps = false;
    float pattern_adu = 0.5f;  ///< with maps: a step of the pixels' offsets, which have nine values
    std::uint64_t seed = 1;
    int size = 128, frames = 200;
    double spots = 10, sigma_nm = 130, em_gain = 1;
    double min_photons = 500, max_photons = 2000, on_frames = 3;
    bool astigmatic = false;
};

/// Maps as of an sCMOS camera: an offset, a gain and a read noise for each pixel.
void add_maps(Camera& camera, int size, float readnoise_e, float pattern_adu) {
    camera.sensor_width = camera.sensor_height = size;
    for (int k = 0; k < size * size; ++k) {
        camera.offset_adu.map.push_back(camera.offset_adu.scalar + pattern_adu * float(k * 7 % 9 - 4));
        camera.gain_e_per_adu.map.push_back(camera.gain_e_per_adu.scalar * (1 + 0.01f * float(k * 11 % 7 - 3)));
        camera.readnoise_e.map.push_back(readnoise_e * (k % 97 == 0 ? 4.0f : 1.0f));
    }
}

Camera make_camera(const Conditions& c) {
    Camera camera;
    camera.gain_e_per_adu.scalar = float(c.gain), camera.offset_adu.scalar = float(c.offset);
    camera.readnoise_e.scalar = c.readnoise_e;
    if (c.readnoise_e > 0) camera.kind = CameraKind::SCMOS;
    if (c.em_gain > 1) camera.kind = CameraKind::EMCCD, camera.em_gain = c.em_gain;
    if (c.maps) add_maps(camera, c.size, c.readnoise_e, c.pattern_adu);
    return camera;
}

/// The value that cannot be estimated from a movie: the read noise, rms over all pixels.
InspectOptions known_of(const Conditions& c) {
    InspectOptions options;
    options.readnoise_e = c.readnoise_e * (c.maps ? std::sqrt(1 + 15.0 / 97) : 1);
    return options;
}

FrameBlock simulated(const Conditions& c) {
    SimulateOptions options;
    options.psf.sigma_nm = c.sigma_nm;
    if (c.astigmatic) {
        options.psf.model = PsfModel::AstigmaticXYZNB;
        options.psf.curve = {.sx0_nm = c.sigma_nm, .sy0_nm = c.sigma_nm, .gamma_nm = 250, .d_nm = 300};
    }
    options.width = options.height = c.size, options.frames = c.frames;
    options.background = c.background, options.spots_per_frame = c.spots, options.seed = c.seed;
    options.on_frames = c.on_frames, options.photons_min = c.min_photons, options.photons_max = c.max_photons;
    FrameBlock block;
    Simulation(options, make_camera(c)).read(0, c.frames, block);
    return block;
}

Inspection inspected(FrameBlock block, const InspectOptions& options = {}) {
    return inspect(*memory_movie(std::move(block), "movie"), options);
}

std::uint16_t* counts_of(FrameBlock& block) { return reinterpret_cast<std::uint16_t*>(block.bytes.data()); }

/// How many values were estimated, and how many of them lie within three of their errors of the truth.
struct Coverage {
    int made = 0, covered = 0;
    void add(const std::optional<Estimate>& estimate, double truth) {
        if (!estimate) return;
        ++made, covered += std::abs(estimate->value - truth) < 3 * estimate->error;
    }
};

}  // namespace

// Cameras of all kinds: a gain of 0.3 to 3 e-/ADU, an offset of 0 to 500 ADU, a background of 2 to 100 e-. If low light
// and a low offset clip counts at 0, nothing is estimated.
TEST(Inspect, estimates_lie_within_three_of_their_errors) {
    Coverage gain, offset, sigma;
    int movies = 0;
    for (const double background : {2.0, 10.0, 100.0})
        for (const double g : {0.3, 1.0, 3.0})
            for (const double o : {0.0, 100.0, 500.0})
                for (const bool scmos : {false, true}) {
                    Conditions c{.gain = g, .offset = o, .background = background};
                    c.readnoise_e = scmos ? 1.6f : 0, c.maps = scmos, c.seed = std::uint64_t(++movies);
                    if (!glint::test::has_turn(movies, 5)) continue;
                    const Inspection found = inspected(simulated(c), known_of(c));
                    const bool is_dark = o == 0 && background <= 10;
                    EXPECT_TRUE(found.noise.gain_e_per_adu || is_dark || background == 100) << found.noise.why_not;
                    gain.add(found.noise.gain_e_per_adu, g), offset.add(found.noise.offset_adu, o);
                    sigma.add(found.spots.sigma_px, c.sigma_nm / 100);
                }
    for (const Coverage& one : {gain, offset, sigma}) {
        ASSERT_GT(one.made, 3);
        // 95 of 100, less four standard errors of a binomial share.
        EXPECT_GE(one.covered, 0.95 * one.made - 4 * std::sqrt(one.made * 0.95 * 0.05)) << "of " << one.made;
    }
}

TEST(Inspect, estimates_no_gain_if_light_does_not_vary) {
    const Inspection found = inspected(simulated({.background = 50, .spots = 0.001}));
    EXPECT_FALSE(found.noise.gain_e_per_adu);
    EXPECT_FALSE(found.noise.offset_adu);
    EXPECT_NE(found.noise.why_not.find("differ too little"), std::string::npos) << found.noise.why_not;
    EXPECT_NEAR(found.noise.variance_adu2, 50 + 1.0 / 12, 1);
    EXPECT_FALSE(found.spots.photons);
    EXPECT_FALSE(estimated_camera(found, {}));
}

// Without the read noise, the offset is 6^2 / 0.5 ADU too low.
TEST(Inspect, an_offset_below_zero_is_refused) {
    const Conditions noisy{.gain = 0.5, .offset = 20, .background = 40, .readnoise_e = 6};
    const FrameBlock block = simulated(noisy);
    const Inspection found = inspected(block), known = inspected(block, known_of(noisy));
    ASSERT_TRUE(found.noise.offset_adu && known.noise.offset_adu) << found.noise.why_not;
    EXPECT_NEAR(found.noise.offset_adu->value, 20 - 72, 5 * found.noise.offset_adu->error);
    EXPECT_TRUE(is_below_zero(*found.noise.offset_adu));
    EXPECT_FALSE(is_below_zero(*known.noise.offset_adu));
    EXPECT_FALSE(is_below_zero({-3, 1}));
    const auto movie = memory_movie(block);
    try {
        estimate_parameters(*movie, make_camera({.gain = 0.5}),
                            {.offset = "`offset=auto`", .gain = "`gain=auto`", .sigma = ""});
        FAIL() << "it was accepted";
    } catch (const OptionError& error) {
        EXPECT_NE(std::string(error.what()).find("is below 0"), std::string::npos) << error.what();
    }
}

TEST(Inspect, estimates_no_gain_if_counts_are_clipped) {
    FrameBlock block = simulated({.background = 20});
    for (std::size_t k = 0; k < block.bytes.size() / 2; ++k)
        counts_of(block)[k] = std::uint16_t(std::max(counts_of(block)[k] - 122, 0));
    const Inspection found = inspected(std::move(block));
    EXPECT_FALSE(found.noise.gain_e_per_adu);
    EXPECT_NE(found.noise.why_not.find("cut off at 0"), std::string::npos) << found.noise.why_not;
}

// With a known offset, the gain follows from noise and light. With a known gain, the offset is where the noise would be
// 0.
TEST(Inspect, is_more_certain_if_more_is_known) {
    const Conditions c{.gain = 0.5, .background = 100};
    const FrameBlock block = simulated(c);
    const Inspection nothing = inspected(block);
    InspectOptions offset, gain;
    offset.offset_adu = 100, gain.gain_e_per_adu = 0.5;
    const Inspection with_offset = inspected(block, offset), with_gain = inspected(block, gain);
    ASSERT_TRUE(with_offset.noise.gain_e_per_adu && with_gain.noise.offset_adu);
    EXPECT_NEAR(with_offset.noise.gain_e_per_adu->value, 0.5, 3 * with_offset.noise.gain_e_per_adu->error);
    EXPECT_NEAR(with_gain.noise.offset_adu->value, 100, 3 * with_gain.noise.offset_adu->error);
    EXPECT_LT(with_offset.noise.gain_e_per_adu->error, 0.05 * 0.5);
    if (nothing.noise.gain_e_per_adu) {
        EXPECT_LT(with_offset.noise.gain_e_per_adu->error, nothing.noise.gain_e_per_adu->error);
        EXPECT_LT(with_gain.noise.offset_adu->error, nothing.noise.offset_adu->error);
    }
}

TEST(Inspect, a_wrong_given_offset_is_reported_and_part_of_the_gain_error) {
    const FrameBlock block = simulated({.gain = 0.5, .offset = 103});
    for (const double offset : {100.0, 103.0, 106.0}) {
        InspectOptions given;
        given.offset_adu = offset;
        const Inspection found = inspected(block, given);
        ASSERT_TRUE(found.noise.gain_e_per_adu) << found.noise.why_not;
        EXPECT_NEAR(found.noise.gain_e_per_adu->value, 0.5, 3 * found.noise.gain_e_per_adu->error) << offset;
        EXPECT_EQ(is_sure(*found.noise.gain_e_per_adu), offset == 103);
        EXPECT_EQ(found.contradiction.empty(), offset == 103) << found.contradiction;
        // Read noise adds to the variance. It can explain an offset that is too high, but not one that is too low.
        EXPECT_EQ(found.contradiction.find("would explain it") != std::string::npos, offset == 106);
        EXPECT_EQ(found.contradiction.find("no read noise") != std::string::npos, offset == 100);
    }
}

TEST(Inspect, reports_an_offset_above_the_counts) {
    const FrameBlock block = simulated({.frames = 40});  // 100 ADU and 10 of light
    InspectOptions given;
    given.offset_adu = 130;
    EXPECT_NE(inspected(block, given).noise.why_not.find("offset of 130 ADU"), std::string::npos);
    given.offset_adu = 1e308;
    EXPECT_THROW(inspected(block, given), OptionError);
}

TEST(Inspect, takes_the_excess_noise_of_an_EM_register_into_account) {
    Conditions c{.gain = 15.6, .offset = 200, .background = 10, .readnoise_e = 74};
    c.em_gain = 300;
    InspectOptions known = known_of(c);
    known.em_gain = 300;
    const Inspection found = inspected(simulated(c), known);
    ASSERT_TRUE(found.noise.gain_e_per_adu) << found.noise.why_not;
    EXPECT_NEAR(found.noise.gain_e_per_adu->value, 15.6, 3 * found.noise.gain_e_per_adu->error);
    EXPECT_NEAR(found.noise.offset_adu->value, 200, 3 * found.noise.offset_adu->error);
    EXPECT_EQ(estimated_camera(found, known)->kind, CameraKind::EMCCD);
}

// On a dark background, places with the same predicted light lie between molecules and on bright molecules. The noise
// of the bright ones is no outlier.
TEST(Inspect, keeps_the_noise_of_bright_molecules) {
    for (const double spots : {12.5, 50.0}) {
        const Inspection found =
            inspected(simulated({.background = 2, .spots = spots, .min_photons = 3000, .max_photons = 5000}));
        ASSERT_TRUE(found.noise.gain_e_per_adu) << found.noise.why_not;
        EXPECT_NEAR(found.noise.gain_e_per_adu->value, 1, 3 * found.noise.gain_e_per_adu->error);
        EXPECT_NEAR(found.noise.offset_adu->value, 100, 3 * found.noise.offset_adu->error);
    }
}

// Molecules that are on in only one frame cannot be predicted from other frames. With every mean known, the gain error
// would be 2.7 %, the Cramer-Rao bound of the line (differences of order 6, of 10 % of the frequencies). Predicted from
// other frames and from pixels outside the 7x7, it is 8 %.
TEST(Inspect, predicts_the_light_of_molecules_that_are_on_once) {
    Conditions c{.background = 60, .readnoise_e = 1.6f, .spots = 50, .min_photons = 500, .max_photons = 1500};
    c.on_frames = 1;
    const Inspection found = inspected(simulated(c), known_of(c));
    ASSERT_TRUE(found.noise.gain_e_per_adu) << found.noise.why_not;
    EXPECT_NEAR(found.noise.gain_e_per_adu->value, 1, 3 * found.noise.gain_e_per_adu->error);
    EXPECT_LT(found.noise.gain_e_per_adu->error, 1.5 * 0.027);
}

// Ten flashes of 3,000 e-. If included, they would make the typical variance four times as large.
TEST(Inspect, leaves_out_cosmic_rays) {
    FrameBlock block = simulated({});
    for (std::size_t k = 0; k < block.bytes.size() / 2; k += 320009)
        counts_of(block)[k] = std::uint16_t(counts_of(block)[k] + 3000);
    const Inspection found = inspected(std::move(block));
    ASSERT_TRUE(found.noise.gain_e_per_adu) << found.noise.why_not;
    EXPECT_NEAR(found.noise.gain_e_per_adu->value, 1, 3 * found.noise.gain_e_per_adu->error);
    EXPECT_NEAR(found.noise.offset_adu->value, 100, 3 * found.noise.offset_adu->error);
}

// If there is too little light for a gain, the width is still correct.
TEST(Inspect, measures_the_width_of_dim_spots_without_the_gain) {
    Conditions c{.gain = 15.6, .offset = 200, .background = 120, .readnoise_e = 74};
    c.spots = 3, c.em_gain = 300, c.min_photons = 200, c.max_photons = 600;
    InspectOptions known = known_of(c);
    known.em_gain = 300;
    const Inspection found = inspected(simulated(c), known);
    EXPECT_FALSE(found.noise.gain_e_per_adu);
    ASSERT_TRUE(found.spots.sigma_px) << found.spots.why_not;
    EXPECT_NEAR(found.spots.sigma_px->value, 1.3, 3 * found.spots.sigma_px->error);
    EXPECT_LT(found.spots.sigma_px->error, 0.05 * 1.3);
}

TEST(Inspect, leaves_out_saturated_areas_and_empty_frames) {
    const Conditions c{.gain = 0.5};
    for (const int count : {65535, 4095, 1000}) {
        FrameBlock block = simulated(c);
        int painted = 0;
        for (int frame = 0; frame < c.frames; ++frame)
            for (int k = 0; k < c.size * c.size; ++k) {
                std::uint16_t& pixel = counts_of(block)[frame * c.size * c.size + k];
                const bool inside = std::hypot(k % c.size - 64, k / c.size - 64) < 20;
                if (inside || pixel > count) pixel = std::uint16_t(count), ++painted;
                if (frame == 11 || frame == 90) pixel = 0;
            }
        const Inspection found = inspected(std::move(block));
        EXPECT_EQ(found.counts.saturation_adu, count);
        EXPECT_NEAR(found.counts.saturated_share, painted / double(c.frames * c.size * c.size), 0.002);
        EXPECT_EQ(found.counts.empty_frames, 2);
        ASSERT_TRUE(found.noise.gain_e_per_adu) << found.noise.why_not;
        EXPECT_NEAR(found.noise.gain_e_per_adu->value, 0.5, 3 * found.noise.gain_e_per_adu->error) << count;
        EXPECT_NEAR(found.noise.offset_adu->value, 100, 3 * found.noise.offset_adu->error) << count;
    }
}

// A pixel with a higher offset does not have more noise.
TEST(Inspect, does_not_mistake_sensor_patterns_for_light) {
    const Conditions c{.gain = 1, .background = 4, .readnoise_e = 1.6f, .maps = true, .pattern_adu = 2};
    const Inspection found = inspected(simulated(c), known_of(c));
    ASSERT_TRUE(found.noise.gain_e_per_adu) << found.noise.why_not;
    EXPECT_NEAR(found.noise.gain_e_per_adu->value, 1, 3 * found.noise.gain_e_per_adu->error);
    EXPECT_NEAR(found.noise.offset_adu->value, 100, 3 * found.noise.offset_adu->error);
}

TEST(Inspect, sees_no_saturation_in_the_tail_of_light) {
    for (const double background : {2.0, 100.0})
        EXPECT_EQ(inspected(simulated({.gain = 3, .background = background})).counts.saturation_adu, 0) << background;
}

TEST(Inspect, measures_how_the_background_drifts) {
    FrameBlock block = simulated({});
    for (std::size_t k = 0; k < block.bytes.size() / 2; ++k)
        counts_of(block)[k] = std::uint16_t(counts_of(block)[k] + (k / (128 * 128)) / 10);  // 0 to 19 ADU
    const MovieCounts counts = inspected(std::move(block)).counts;
    EXPECT_NEAR(counts.background_drift.value, 18, 1 + 3 * counts.background_drift.error);
}

TEST(Inspect, measures_the_width_of_spots_from_a_start_that_is_far_off) {
    for (const double sigma_nm : {100.0, 200.0}) {
        const Inspection found = inspected(simulated({.gain = 0.5, .sigma_nm = sigma_nm}));
        ASSERT_TRUE(found.spots.sigma_px) << found.spots.why_not;
        EXPECT_NEAR(found.spots.sigma_px->value, sigma_nm / 100, 3 * found.spots.sigma_px->error);
        // 500 to 2000 photons: all spots are detected except close pairs.
        EXPECT_NEAR(found.spots.per_pixel.value * 128 * 128, 10, 2);
    }
}

TEST(Inspect, all_frames_of_a_short_movie_are_read) {
    for (const int frames : {7, 8, 9, 10, 15, 16})
        EXPECT_EQ(inspected(simulated({.size = 32, .frames = frames})).counts.frames, frames);
}

TEST(Inspect, copes_with_movies_without_information) {
    for (const int frames : {1, 2, 3}) EXPECT_NE(inspected(simulated({.frames = frames})).noise.why_not, "") << frames;
    EXPECT_NE(inspected(simulated({.size = 8})).noise.why_not, "");
    FrameBlock black = simulated({});
    std::fill(black.bytes.begin(), black.bytes.end(), std::byte(0));
    const Inspection found = inspected(std::move(black));
    EXPECT_EQ(found.counts.empty_frames, found.counts.frames);
    EXPECT_NE(found.noise.why_not, "");
    EXPECT_NE(found.spots.why_not, "");
}

// Reference results for the counts of each movie.
TEST(Inspect, reports_counts_of_movies_with_one_count_or_without_finite_counts) {
    for (const std::uint16_t count : {std::uint16_t(65535), std::uint16_t(100)}) {
        FrameBlock block = simulated({.size = 32, .frames = 10});
        std::fill_n(counts_of(block), 10 * 32 * 32, count);
        const MovieCounts counts = inspected(std::move(block)).counts;
        EXPECT_EQ(counts.saturation_adu, count == 65535 ? 65535 : 0);
        EXPECT_EQ(counts.saturated_share, count == 65535 ? 1 : 0);
        EXPECT_EQ(counts.why_no_saturation.empty(), count == 65535) << counts.why_no_saturation;
        EXPECT_EQ(counts.background_adu->value, count);
    }
    FrameBlock floats{0, 4, 32, 32, PixelType::float32, std::vector<std::byte>(4 * 32 * 32 * 4)};
    auto* values = reinterpret_cast<float*>(floats.bytes.data());
    for (int k = 0; k < 4 * 32 * 32; ++k) values[k] = float(50 + k % 7);
    values[5] = NAN, values[6] = INFINITY, values[7] = -INFINITY;
    const MovieCounts some = inspected(floats).counts;
    EXPECT_EQ(some.not_finite, 3);
    EXPECT_EQ(*some.min_adu, 50);
    EXPECT_EQ(*some.max_adu, 56);
    EXPECT_EQ(some.background_adu->value, 53);
    std::fill_n(values, 4 * 32 * 32, NAN);
    const MovieCounts none = inspected(floats).counts;
    EXPECT_EQ(none.not_finite, 4 * 32 * 32);
    EXPECT_FALSE(none.min_adu || none.max_adu || none.background_adu);
    EXPECT_NE(none.why_no_saturation, "");
    EXPECT_EQ(none.empty_frames, 0);
}

TEST(Inspect, reads_only_the_requested_frames) {
    FrameBlock block = simulated({});
    for (std::size_t k = 0; k < block.bytes.size() / 2; ++k)
        if (k / (128 * 128) < 100) counts_of(block)[k] = 4095;
    InspectOptions second_half;
    second_half.frames = {100, 200};
    const Inspection found = inspected(std::move(block), second_half);
    EXPECT_EQ(found.counts.frames, 96);  // blocks of eight
    EXPECT_LT(*found.counts.max_adu, 4095);
    ASSERT_TRUE(found.noise.gain_e_per_adu) << found.noise.why_not;
    EXPECT_NEAR(found.noise.gain_e_per_adu->value, 1, 3 * found.noise.gain_e_per_adu->error);
}

TEST(Inspect, refuses_values_out_of_range) {
    InspectOptions options;
    for (const FrameRange& range : {FrameRange{0, 9}, FrameRange{4, 4}, FrameRange{-1, 4}, FrameRange{8, -1}}) {
        options.frames = range;
        EXPECT_THROW(inspected(simulated({.frames = 8}), options), OptionError) << range.begin << ":" << range.end;
    }
    options = {};
    options.em_gain = 0.5;
    EXPECT_THROW(inspected(simulated({.frames = 8}), options), OptionError);
    options.em_gain = 1, options.gain_e_per_adu = 0;
    EXPECT_THROW(inspected(simulated({.frames = 8}), options), OptionError);
}

// Molecules at all depths within 0.8 um behind a cylindrical lens, so no single width fits most of them. The noise of
// the movie is still reported.
TEST(Inspect, estimates_no_width_of_astigmatic_spots) {
    const Conditions round{.gain = 0.5, .min_photons = 1000, .max_photons = 4000};
    Conditions astigmatic = round;
    astigmatic.astigmatic = true;
    const Inspection found = inspected(simulated(astigmatic));
    EXPECT_FALSE(found.spots.sigma_px);
    EXPECT_NE(found.spots.why_not.find("as with an astigmatic lens"), std::string::npos) << found.spots.why_not;
    EXPECT_EQ(found.spots.psf, PsfModel::GaussianXYNBSXSY) << "z needs a calibration";
    EXPECT_NE(found.spots.why_psf.find("`calibration`"), std::string::npos) << found.spots.why_psf;
    ASSERT_TRUE(found.noise.gain_e_per_adu) << found.noise.why_not;
    for (const double spots : {3, 10, 30}) {
        Conditions denser = round;
        denser.spots = spots;
        const MovieSpots width = inspected(simulated(denser)).spots;
        EXPECT_TRUE(width.sigma_px || width.why_not.find("astigmatic") == std::string::npos) << width.why_not;
    }
}

// Half of the molecules are 1.7 times as wide as the rest. In crowds the default remains, because free widths hide
// pairs there.
TEST(Inspect, recommends_a_free_width_if_lone_spots_differ) {
    const auto mixed = [](double spots) {
        const FrameBlock narrow = simulated({.frames = 40, .spots = spots}),
                         wide = simulated({.seed = 2, .frames = 40, .spots = spots, .sigma_nm = 220});
        FrameBlock both = narrow;
        auto* sum = reinterpret_cast<std::uint16_t*>(both.bytes.data());
        const auto* other = reinterpret_cast<const std::uint16_t*>(wide.bytes.data());
        for (std::size_t k = 0; k < both.bytes.size() / 2; ++k) sum[k] = std::uint16_t(sum[k] + other[k] - 100);
        return inspected(both).spots;
    };
    const MovieSpots sparse = mixed(8), crowd = mixed(150);
    EXPECT_EQ(sparse.psf, PsfModel::GaussianXYNBS) << sparse.why_not;
    EXPECT_NE(sparse.why_psf, "");
    EXPECT_EQ(crowd.psf, PsfModel::GaussianXYNB) << crowd.why_psf;
    for (const double spots : {3, 10, 30, 60}) {
        const MovieSpots alike = inspected(simulated({.frames = 80, .spots = spots})).spots;
        EXPECT_EQ(alike.psf, PsfModel::GaussianXYNB) << spots << ": " << alike.why_psf;
    }
}

// With ten times the true photons, the relative errors are a third. Widths along x and y then differ beyond these
// errors.
TEST(Inspect, a_far_too_large_gain_is_not_mistaken_for_an_astigmatic_lens) {
    InspectOptions wrong;
    wrong.offset_adu = 100, wrong.gain_e_per_adu = 1;
    const Inspection found = inspected(simulated({.gain = 0.1, .min_photons = 100, .max_photons = 300}), wrong);
    ASSERT_TRUE(found.spots.sigma_px) << found.spots.why_not;
    EXPECT_NEAR(found.spots.sigma_px->value, 1.3, 0.1 * 1.3);  // the limit of is_sure()
    EXPECT_NE(found.contradiction.find("gain"), std::string::npos) << found.contradiction;
}

TEST(Inspect, is_sure_to_a_tenth_and_of_an_offset_to_ten_counts_or_photoelectrons) {
    EXPECT_TRUE(is_sure({1, 0.1}));
    EXPECT_FALSE(is_sure({1, 0.11}));
    EXPECT_TRUE(is_sure_offset({225, 10}, 5));
    EXPECT_TRUE(is_sure_offset({225, 99}, 0.1));
    EXPECT_FALSE(is_sure_offset({225, 11}, 1));
}

// Nominal gains, except the first: it belongs to a real camera, whose noise gives 1.82.
TEST(Inspect, finds_the_gain_of_published_movies) {
    const char* folder = std::getenv("GLINT_DATA");
    if (!folder) GTEST_SKIP() << "GLINT_DATA names no folder of movies";
    const std::filesystem::path data = folder;
    for (const auto& [name, gain] :
         {std::pair("storm_microtubules_astigmatic.tif", 1.67), std::pair("sim_2d_low_density.tif", 1.0),
          std::pair("sim_3d_astigmatic_low_density.tif", 1.0)}) {
        if (!std::filesystem::exists(data / name)) continue;
        const Inspection found = inspect(*open_movie(data / name));
        ASSERT_TRUE(found.noise.gain_e_per_adu) << name << found.noise.why_not;
        EXPECT_NEAR(found.noise.gain_e_per_adu->value, gain, 0.1 * gain) << name;
    }
}

// The noise of empty regions over that of the camera's maps: 1 if the maps are right, and sqrt(2) with a doubled gain.
TEST(Inspect, compares_the_noise_with_that_of_a_known_camera) {
    const Conditions c{.background = 20, .readnoise_e = 1.6f, .maps = true, .pattern_adu = 5, .seed = 11};
    const FrameBlock block = simulated(c);
    InspectOptions right, wrong;
    right.camera = make_camera(c), wrong.camera = right.camera;
    for (float& gain : wrong.camera->gain_e_per_adu.map) gain *= 2;
    for (float& noise : wrong.camera->readnoise_e.map) noise *= 2;
    const Inspection found = inspected(block, right), doubled = inspected(block, wrong);
    ASSERT_TRUE(found.noise_check && doubled.noise_check);
    EXPECT_NEAR(found.noise_check->value, 1, 4 * found.noise_check->error + 0.01);
    EXPECT_EQ(found.contradiction, "");
    // 20 e- and read noise: (4 * 20 + 4 v) / (2 * 20 + 4 v) of the variance.
    const double v = std::pow(1.6, 2) * (1 + 15.0 / 97);
    EXPECT_NEAR(doubled.noise_check->value, std::sqrt((80 + 4 * v) / (40 + 4 * v)), 0.03);
    EXPECT_NE(doubled.contradiction.find("gain"), std::string::npos) << doubled.contradiction;
    EXPECT_EQ(found.noise.gain_e_per_adu->value, 1);  // the median of the maps
    EXPECT_EQ(found.noise.gain_e_per_adu->error, 0);
    EXPECT_EQ(found.noise.offset_adu->error, 0);
    ASSERT_TRUE(found.spots.sigma_px && doubled.spots.photons);
    EXPECT_NEAR(found.spots.sigma_px->value, 1.3, 3 * found.spots.sigma_px->error);
    EXPECT_NEAR(doubled.spots.photons->value / found.spots.photons->value, 2, 0.1);
    EXPECT_TRUE(estimated_camera(found, right)->has_maps());
    EXPECT_FALSE(inspected(block).noise_check);  // no camera to compare with
}
