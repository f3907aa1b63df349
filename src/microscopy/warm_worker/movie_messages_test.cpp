// Valid parts of a movie's jobs, and parts that a hostile process might send.
// SPDX-License-Identifier: MIT
#include "warm_worker/movie_messages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "pipeline/found_spots.hpp"
#include "tests/simulated_movie.hpp"
#include "tests/typical_psf.hpp"
#include "warm_worker/camera_setup.hpp"
#include "warm_worker/fit_job.hpp"
#include "warm_worker/shared_movie.hpp"

namespace glint::warm_worker {
namespace {

constexpr int width = 40, height = 24;

Camera with_maps() { return test::mapped_camera_with_bad_pixels(width, height); }

LocalizeJob job_with(const Camera& camera, int emitters = any_emitters) {
    MovieInfo info;
    info.width = width, info.height = height, info.frames = 10;
    LocalizeOptions options;
    options.psf = test::typical_psf(PsfModel::GaussianXYNBS);
    options.pixel_size_nm = 108, options.threshold = 5.5, options.fit.emitters = emitters,
    options.fit.psf_misfit = 0.07;
    options.fit.max_iterations = 17, options.fit.min_sigma_px = 0.4f;
    options.neighbor_rounds = 2, options.keep_failed = options.keep_defective = true;
    LocalizeJob job = make_job(info, camera, options);
    set_saturation(job, 4095);
    job.lone.min_width_nm = 100, job.lone.max_width_nm = 200;
    return job;
}

std::vector<std::byte> maps_of(const LocalizeJob& job) {
    std::vector<std::byte> memory(num_bytes(large_parts(job)));
    pack(large_parts(job), memory);
    return memory;
}

/// Returns `n` rows of frames 5 to 7, with the job's columns and numbered values.
BlockResult result_of(const LocalizeJob& job, std::size_t n) {
    BlockResult result;
    result.noise_checks = {1, 2, 3}, result.counts.bad_pixels = 4, result.counts.spots = std::int64_t(n);
    const std::vector<std::size_t> copies(n, 0);
    if (n > 0) result.rows = select(job.like, copies);
    for (std::size_t k = 0; k < n; ++k) {
        result.rows.frame[k] = std::uint32_t(5 + k % 3), result.rows.status[k] = std::uint8_t(k % 2);
        for (const LocalizationColumn& column : localization_columns())
            if (auto& values = result.rows.*column.values; !values.empty()) values[k] = float(k);
        for (auto& [name, column] : result.rows.extra) column.values[k] = double(10 + k);
    }
    return result;
}

}  // namespace

TEST(MovieMessages, a_job_arrives_as_it_was_sent) {
    const LocalizeJob job = job_with(with_maps());
    const std::optional<LocalizeJob> there = job_of(setup_of(job, PixelType::uint16), maps_of(job));
    ASSERT_TRUE(there);
    EXPECT_EQ(there->camera.maps()->factor, job.camera.maps()->factor);
    EXPECT_EQ(there->camera.maps()->masked.size(), job.camera.maps()->masked.size());
    EXPECT_EQ(there->camera.variance_scalar(), job.camera.variance_scalar());
    EXPECT_EQ(there->camera.shot_noise(), job.camera.shot_noise());
    EXPECT_EQ(detect_options(*there).filter.width_px, detect_options(job).filter.width_px);
    EXPECT_EQ(there->options.threshold, 5.5);
    EXPECT_EQ(there->options.fit.max_iterations, 17);
    EXPECT_EQ(there->options.pixel_size_nm, 108);
    EXPECT_EQ(there->options.neighbor_rounds, 2);
    EXPECT_TRUE(there->options.keep_failed);
    EXPECT_TRUE(there->options.keep_defective);
    EXPECT_EQ(there->pixels.saturation_adu, 4095);
    EXPECT_EQ(there->saturated_e, job.saturated_e);
    EXPECT_EQ(there->duplicate_radius_px, job.duplicate_radius_px);
    EXPECT_EQ(there->stay_px, job.stay_px);
    EXPECT_EQ(FoundSpots(*there).wide.size, FoundSpots(job).wide.size);
    const JointOptions here = joint_options(job), joint = joint_options(*there);
    EXPECT_EQ(joint.misfit, here.misfit);
    EXPECT_EQ(joint.widths.min_px, here.widths.min_px);
    EXPECT_EQ(joint.widths.max_px, here.widths.max_px);
    EXPECT_EQ(joint.max_iterations, here.max_iterations);
    Camera emccd;
    emccd.kind = CameraKind::EMCCD, emccd.em_gain = 300, emccd.gain_e_per_adu.scalar = 15,
    emccd.readnoise_e.scalar = 70;
    const LocalizeJob uniform = job_with(emccd, 1);
    const std::optional<LocalizeJob> same = job_of(setup_of(uniform, PixelType::uint8), {});
    ASSERT_TRUE(same && same->camera.uniform());
    EXPECT_EQ(same->camera.pixel(7).factor_e_per_adu, uniform.camera.pixel(7).factor_e_per_adu);
    EXPECT_EQ(same->camera.excess_noise(), 2);
    EXPECT_EQ(same->options.fit.emitters, 1);
}

TEST(MovieMessages, a_job_that_no_run_would_begin_is_none) {
    const LocalizeJob job = job_with(with_maps());
    const std::vector<std::byte> maps = maps_of(job);
    const MovieSetup good = setup_of(job, PixelType::uint16);
    const auto is_refused = [&](const auto& change) {
        MovieSetup setup = good;
        change(setup);
        return !job_of(setup, maps);
    };
    EXPECT_FALSE(is_refused([](MovieSetup&) {}));
    EXPECT_TRUE(is_refused([](MovieSetup& s) { s.camera.width = 0; }));
    EXPECT_TRUE(is_refused([](MovieSetup& s) { s.camera.width = 2 * width; }));  // larger than the maps
    EXPECT_TRUE(is_refused([](MovieSetup& s) { s.camera.height = 1 << 30; }));
    EXPECT_TRUE(is_refused([](MovieSetup& s) { s.type = PixelType(9); }));
    EXPECT_TRUE(is_refused([](MovieSetup& s) { s.roi_size = height + 1; }));
    EXPECT_TRUE(is_refused([](MovieSetup& s) { s.threshold = -1; }));
    EXPECT_TRUE(is_refused([](MovieSetup& s) { s.fit.psf = "Airy sigma_um=0.13"; }));
    EXPECT_TRUE(is_refused([](MovieSetup& s) { s.fit.tolerance = -1; }));
    EXPECT_TRUE(is_refused([](MovieSetup& s) { s.fit.psf = "GaussianXYNB sigma_um=0.13 numbers=1"; }));
    EXPECT_TRUE(is_refused([](MovieSetup& s) { s.neighbor_rounds = 1 << 30; }));
    EXPECT_TRUE(is_refused([](MovieSetup& s) { s.pixel_size_nm *= 2; })) << "not that of the fits";
    EXPECT_FALSE(job_of(good, std::span(maps).first(maps.size() - 8)));
    LocalizeJob elsewhere = job;  // a masked pixel that would take its value from outside the frame
    CameraView::Maps wrong = *job.camera.maps();
    wrong.masked.at(0).from[0] = width * height;
    elsewhere.camera = CameraView(width, height, 1, good.camera.pixel, std::make_shared<const CameraView::Maps>(wrong));
    EXPECT_FALSE(job_of(good, maps_of(elsewhere)));
}

TEST(MovieMessages, a_block_arrives_as_it_was_sent) {
    const LocalizeJob job = job_with(with_maps());
    for (const std::size_t n : {0, 1, 7}) {
        const BlockResult sent = result_of(job, n);
        std::vector<std::byte> place(std::size_t(1) << 16, std::byte(1));
        ASSERT_TRUE(pack(sent, place));
        BlockResult got;
        ASSERT_TRUE(unpack(place, job, 5, 3, got));
        EXPECT_EQ(got.rows.frame, sent.rows.frame);
        EXPECT_EQ(got.rows.x_px, sent.rows.x_px);
        EXPECT_EQ(got.rows.sy_unc_px, sent.rows.sy_unc_px);
        EXPECT_EQ(got.rows.emitters, sent.rows.emitters);
        EXPECT_EQ(got.rows.status, sent.rows.status);
        EXPECT_EQ(got.rows.extra, sent.rows.extra);
        EXPECT_EQ(got.rows.pixel_size_nm, sent.rows.pixel_size_nm);
        EXPECT_EQ(got.noise_checks, sent.noise_checks);
        EXPECT_EQ(got.counts.bad_pixels, 4);
        EXPECT_EQ(got.counts.spots, std::int64_t(n));
        EXPECT_FALSE(unpack(place, job, 5, 2, got)) << "of other frames";
        EXPECT_EQ(unpack(place, job, 6, 3, got), n == 0) << "of other frames";
        EXPECT_FALSE(pack(sent, std::span(place).first(100))) << "there is no room";
        ASSERT_TRUE(unpack(place, job, 5, 3, got)) << "the second half of a block";
        EXPECT_EQ(got.rows.size(), n == 0 ? 0 : 2 * n);
        EXPECT_EQ(got.noise_checks.size(), n == 0 ? 9u : 6u);
    }
}

// Whatever the bytes contain, unpacking returns complete data or none.
TEST(MovieMessages, any_bytes_give_complete_data_or_none) {
    const LocalizeJob job = job_with(Camera());
    std::mt19937_64 random(1);
    int whole = 0;
    std::vector<std::byte> sent(std::size_t(1) << 11);
    ASSERT_TRUE(pack(result_of(job, 4), sent));
    for (int k = 0; k < 20000; ++k) {
        std::vector<std::byte> bytes = sent;
        for (int change = 0; change < int(random() % 4); ++change)
            std::fill_n(bytes.begin() + std::ptrdiff_t(random() % (bytes.size() - 8)), random() % 8,
                        std::byte(random() % 2 ? 0xff : random()));
        BlockResult result;
        if (!unpack(bytes, job, 5, 3, result)) continue;
        ++whole;
        const Localizations& rows = result.rows;
        ASSERT_EQ(rows.x_px.size(), rows.size());
        ASSERT_EQ(rows.status.size(), rows.size());
        for (const std::uint32_t frame : rows.frame) ASSERT_TRUE(frame >= 5 && frame < 8);
    }
    EXPECT_GT(whole, 1000);
    EXPECT_LT(whole, 20000);
}

TEST(MovieMessages, a_job_stays_within_its_memory) {
    std::optional<SharedMemory> memory = SharedMemory::create(1 << 16);
    ASSERT_TRUE(memory);
    const SharedMovie movie(job_with(Camera()), PixelType::uint16, std::move(*memory));
    constexpr std::uint64_t frame = 2 * width * height;
    const MovieJob good{FramesFrom::memory, 3, 4096, 0, 1 << 15, 1 << 15};
    const auto holds = [&](const auto& change) {
        MovieJob job = good;
        change(job);
        return movie.holds(job);
    };
    EXPECT_TRUE(holds([](MovieJob&) {}));
    EXPECT_TRUE(holds([](MovieJob& j) { j.at = (1 << 16) - 3 * frame; }));
    EXPECT_FALSE(holds([](MovieJob& j) { j.at = (1 << 16) - 3 * frame + 1; }));
    EXPECT_FALSE(holds([](MovieJob& j) { j.at = ~std::uint64_t(0); }));
    EXPECT_TRUE(holds([](MovieJob& j) { j.at += 1; })) << "the second of frames with an odd number of bytes";
    EXPECT_FALSE(holds([](MovieJob& j) { j.count = 0; }));
    EXPECT_FALSE(holds([](MovieJob& j) { j.count = ~0u; }));
    EXPECT_FALSE(holds([](MovieJob& j) { j.place += 8; }));
    EXPECT_FALSE(holds([](MovieJob& j) { j.place += 1, j.bytes -= 1; }));
    EXPECT_FALSE(holds([](MovieJob& j) { j.from = FramesFrom(7); }));
    EXPECT_TRUE(holds([](MovieJob& j) { j.from = FramesFrom::file, j.at = (1 << 16) - 3 * 8; }));
    EXPECT_FALSE(holds([](MovieJob& j) { j.from = FramesFrom::file, j.at = (1 << 16) - 2 * 8; }));
    std::optional<SharedMemory> large = SharedMemory::create(std::size_t(1) << 30);
    ASSERT_TRUE(large);
    const SharedMovie roomy(job_with(Camera()), PixelType::uint16, std::move(*large));
    EXPECT_TRUE(roomy.holds({FramesFrom::memory, 4096, 0, 0, 0, 1 << 20}));
    EXPECT_FALSE(roomy.holds({FramesFrom::memory, 4097, 0, 0, 0, 1 << 20})) << "more than a block";
}

}  // namespace glint::warm_worker
