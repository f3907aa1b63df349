// Parts of a movie's jobs as they are sent, and as somebody hostile might send them.
// SPDX-License-Identifier: MIT
#include "pipeline/warm/movie_parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "fit/worker/camera_setup.hpp"
#include "fit/worker/job.hpp"
#include "pipeline/warm/shared_movie.hpp"
#include "tests/simulated_movie.hpp"
#include "tests/typical_psf.hpp"

namespace glint::worker {
namespace {

constexpr int width = 40, height = 24;

Camera with_maps() { return test::mapped_camera_with_bad_pixels(width, height); }

Job job_with(const Camera& camera, int emitters = any_emitters) {
    MovieInfo info;
    info.width = width, info.height = height, info.frames = 10;
    LocalizeOptions options;
    options.psf = test::typical_psf(PsfModel::GaussianXYNBS);
    options.pixel_size_nm = 108, options.threshold = 5.5, options.emitters = emitters, options.psf_misfit = 0.07;
    options.fit.max_iterations = 17, options.fit.min_sigma_px = 0.4f;
    Job job = make_job(info, camera, options);
    job.lone.least_width_um = 0.1, job.lone.most_width_um = 0.2;
    return job;
}

std::vector<std::byte> maps_of(const Job& job) {
    std::vector<std::byte> memory(bytes_of_maps(job.camera));
    pack_maps(job.camera, memory);
    return memory;
}

/// Of so many spots, numbered values.
FoundSpots spots_of(const Job& job, std::size_t n) {
    FoundSpots found(job);
    found.fits.resize(job.options.psf.model, n);
    const auto fill = [](auto& column, std::size_t count) {
        column.resize(count);
        for (std::size_t k = 0; k < count; ++k) column[k] = static_cast<std::decay_t<decltype(column[0])>>(k + 1);
    };
    for (Rois* rois : {&found.rois, &found.wide}) {
        if (rois->size == 0) continue;
        const std::size_t area = n * std::size_t(rois->size) * std::size_t(rois->size);
        fill(rois->pixels, area), fill(rois->frame, n), fill(rois->x_corner, n), fill(rois->y_corner, n);
        if (!job.camera.variance_map().empty()) fill(rois->variance, area);
        if (!job.camera.qe_map().empty()) fill(rois->qe, area);
    }
    fill(found.rois.x_start, n), fill(found.rois.y_start, n), fill(found.scores, n);
    fill(found.fits.theta[0], n), fill(found.fits.crlb[4], n), fill(found.fits.iterations, n);
    return found;
}

/// Group k has windows k and k + 1.
struct SampleGroups {
    SampleGroups(const Job& job, std::size_t n) : spots(spots_of(job, n + 1)), windows(n), light(n), fits(n) {
        for (Rois* rois : {&spots.rois, &spots.wide})
            for (std::size_t k = 0; k <= n; ++k) rois->x_corner[k] = int(k + 2), rois->y_corner[k] = 1;
        for (std::size_t k = 0; k < n; ++k) {
            windows[k] = {k, k + 1};
            light[k].resize(k, {1, 2, 3});
            fits[k].emitters.resize(k % 3 + 1);
            fits[k].emitters[0].theta[2] = double(k), fits[k].bg = 5, fits[k].bg_tilt = {0.5, 0};
            fits[k].converged = true;
            cuts.push_back({&spots.wide,
                            &spots.rois,
                            windows[k],
                            rectangle_of(spots.wide, windows[k]),
                            light[k],
                            {},
                            k % 2 == 1,
                            k % 3 != 0,
                            &fits[k]});
        }
    }
    FoundSpots spots;
    std::vector<std::vector<std::size_t>> windows;
    std::vector<std::vector<JointLight>> light;
    std::vector<JointFit> fits;
    std::vector<JointCut> cuts;
};

}  // namespace

TEST(MovieParts, a_job_arrives_as_it_was_sent) {
    const Job job = job_with(with_maps());
    const std::optional<Job> there = job_of(setup_of(job, PixelType::uint16), maps_of(job));
    ASSERT_TRUE(there);
    EXPECT_EQ(there->camera.maps()->factor, job.camera.maps()->factor);
    EXPECT_EQ(there->camera.maps()->masked.size(), job.camera.maps()->masked.size());
    EXPECT_EQ(there->camera.variance_scalar(), job.camera.variance_scalar());
    EXPECT_EQ(there->camera.shot_noise(), job.camera.shot_noise());
    EXPECT_EQ(detect_options(*there).sigma_px, detect_options(job).sigma_px);
    EXPECT_EQ(there->options.threshold, 5.5);
    EXPECT_EQ(there->options.fit.max_iterations, 17);
    EXPECT_EQ(FoundSpots(*there).wide.size, FoundSpots(job).wide.size);
    const JointOptions here = joint_options(job), joint = joint_options(*there);
    EXPECT_EQ(joint.misfit, here.misfit);
    EXPECT_EQ(joint.min_sigma_px, here.min_sigma_px);
    EXPECT_EQ(joint.max_sigma_px, here.max_sigma_px);
    EXPECT_EQ(joint.max_iterations, here.max_iterations);
    Camera emccd;
    emccd.kind = CameraKind::EMCCD, emccd.em_gain = 300, emccd.gain_e_per_adu.scalar = 15,
    emccd.readnoise_e.scalar = 70;
    const Job uniform = job_with(emccd, 1);
    const std::optional<Job> same = job_of(setup_of(uniform, PixelType::uint8), {});
    ASSERT_TRUE(same && same->camera.uniform());
    EXPECT_EQ(same->camera.pixel(7).factor_e_per_adu, uniform.camera.pixel(7).factor_e_per_adu);
    EXPECT_EQ(same->camera.excess_noise(), 2);
    EXPECT_EQ(same->options.emitters, 1);
}

TEST(MovieParts, a_job_that_no_run_would_begin_is_none) {
    const Job job = job_with(with_maps());
    const std::vector<std::byte> maps = maps_of(job);
    const MovieSetup good = setup_of(job, PixelType::uint16);
    const auto is_refused = [&](const auto& change) {
        MovieSetup setup = good;
        change(setup);
        return !job_of(setup, maps);
    };
    EXPECT_FALSE(is_refused([](MovieSetup&) {}));
    EXPECT_TRUE(is_refused([](MovieSetup& s) { s.camera.width = 0; }));
    EXPECT_TRUE(is_refused([](MovieSetup& s) { s.camera.width = 2 * width; }));  // than the maps
    EXPECT_TRUE(is_refused([](MovieSetup& s) { s.camera.height = 1 << 30; }));
    EXPECT_TRUE(is_refused([](MovieSetup& s) { s.type = PixelType(9); }));
    EXPECT_TRUE(is_refused([](MovieSetup& s) { s.roi_size = height + 1; }));
    EXPECT_TRUE(is_refused([](MovieSetup& s) { s.threshold = -1; }));
    EXPECT_TRUE(is_refused([](MovieSetup& s) { s.fit.model = PsfModel(99); }));
    EXPECT_TRUE(is_refused([](MovieSetup& s) { s.fit.tolerance = -1; }));
    EXPECT_TRUE(is_refused([](MovieSetup& s) { s.fit.number_count = 17; }));
    EXPECT_FALSE(job_of(good, std::span(maps).first(maps.size() - 8)));
    Job elsewhere = job;  // a masked pixel that takes its value from beyond the frame
    CameraView::Maps wrong = *job.camera.maps();
    wrong.masked.at(0).from[0] = width * height;
    elsewhere.camera = CameraView(width, height, 1, good.camera.pixel, std::make_shared<const CameraView::Maps>(wrong));
    EXPECT_FALSE(job_of(good, maps_of(elsewhere)));
}

TEST(MovieParts, a_block_arrives_as_it_was_sent) {
    for (const bool mapped : {false, true}) {
        const Job job = job_with(mapped ? with_maps() : Camera());
        for (const std::size_t n : {0, 1, 7}) {
            const FoundSpots sent = spots_of(job, n);
            BlockResult result, got;
            result.noise_checks = {1, 2, 3}, result.counts.bad_pixels = 4;
            std::vector<std::byte> place(std::size_t(1) << 16);
            ASSERT_TRUE(pack(sent, result, place));
            FoundSpots found = spots_of(job, 3);  // of an earlier block
            ASSERT_TRUE(unpack(place, job, 3, found, got));
            EXPECT_EQ(found.wide.pixels, sent.wide.pixels);
            EXPECT_EQ(found.rois.variance, sent.rois.variance);
            EXPECT_EQ(found.rois.x_start, sent.rois.x_start);
            EXPECT_EQ(found.scores, sent.scores);
            EXPECT_EQ(found.fits.crlb[4], sent.fits.crlb[4]);
            EXPECT_EQ(found.fits.iterations, sent.fits.iterations);
            EXPECT_EQ(found.fits.model, sent.fits.model);
            EXPECT_EQ(got.noise_checks, result.noise_checks);
            EXPECT_EQ(got.counts.bad_pixels, 4);
            EXPECT_FALSE(unpack(place, job, 2, found, got)) << "of other frames";
            EXPECT_FALSE(pack(sent, result, std::span(place).first(200))) << "there is no room";
        }
    }
}

TEST(MovieParts, groups_arrive_as_they_were_sent) {
    for (const bool mapped : {false, true}) {
        const Job job = job_with(mapped ? with_maps() : Camera());
        SampleGroups sent(job, 5);
        std::vector<std::byte> place(std::size_t(1) << 16);
        ASSERT_TRUE(pack(sent.cuts, place));
        Groups groups(job);
        ASSERT_TRUE(groups.add(place, 5));
        ASSERT_TRUE(groups.add(place, 5)) << "of another block";
        ASSERT_EQ(groups.all().size(), 10u);
        for (std::size_t k = 0; k < 10; ++k) {
            const JointCut &cut = groups.all()[k], &as_sent = sent.cuts[k % 5];
            for (const JointPlane plane : {JointPlane::data, JointPlane::per_photon})
                EXPECT_EQ(joint_pixels(*cut.pixels, cut.windows).copy_of(plane),
                          joint_pixels(sent.spots.wide, as_sent.windows).copy_of(plane));
            EXPECT_EQ(cut.searched->x_corner[cut.windows[1]], sent.spots.rois.x_corner[as_sent.windows[1]]);
            EXPECT_EQ(cut.searched->size, sent.spots.rois.size);
            EXPECT_EQ(cut.rectangle.left, as_sent.rectangle.left);
            EXPECT_EQ(cut.rectangle.width, as_sent.rectangle.width);
            EXPECT_TRUE(std::ranges::equal(cut.light, as_sent.light));
            EXPECT_EQ(cut.again, as_sent.again);
            EXPECT_EQ(cut.search, as_sent.search);
            EXPECT_EQ(cut.fit->emitters.size(), as_sent.fit->emitters.size());
            EXPECT_EQ(cut.fit->emitters[0].theta, as_sent.fit->emitters[0].theta);
            EXPECT_EQ(cut.fit->bg_tilt, as_sent.fit->bg_tilt);
        }
        EXPECT_FALSE(Groups(job).add(place, 6)) << "there are five";
        groups.all()[2].fit->emitters.resize(9);
        ASSERT_TRUE(pack_fits(groups.all().first(5), place));
        ASSERT_TRUE(unpack_fits(place, sent.cuts));
        EXPECT_EQ(sent.fits[2].emitters.size(), 9u);
        EXPECT_TRUE(sent.fits[2].converged);
        EXPECT_FALSE(pack(sent.cuts, std::span(place).first(1000)));
        EXPECT_FALSE(pack_fits(sent.cuts, std::span(place).first(1000)));
        sent.fits[0].emitters.resize(std::size_t(most_joint_emitters) + 1);
        ASSERT_TRUE(pack(sent.cuts, place));
        EXPECT_FALSE(Groups(job).add(place, 5)) << "a group of too many";
        sent.fits[0].emitters.resize(1);
        sent.spots.wide.x_corner[5] = width - sent.spots.wide.size + 1;
        ASSERT_TRUE(pack(sent.cuts, place));
        EXPECT_FALSE(Groups(job).add(place, 5)) << "a window beyond the frame";
    }
}

// Whatever the bytes are, what comes out is whole, or nothing does.
TEST(MovieParts, no_bytes_lead_astray) {
    const Job job = job_with(Camera());
    std::mt19937_64 random(1);
    int blocks = 0, groups = 0;
    std::vector<std::byte> block_sent(std::size_t(1) << 13), groups_sent = block_sent;
    ASSERT_TRUE(pack(spots_of(job, 4), {}, block_sent));
    ASSERT_TRUE(pack(SampleGroups(job, 2).cuts, groups_sent));
    for (int k = 0; k < 20000; ++k) {
        std::vector<std::byte> block = block_sent, some = groups_sent;
        for (auto* bytes : {&block, &some})
            for (int change = 0; change < int(random() % 4); ++change)
                std::fill_n(bytes->begin() + std::ptrdiff_t(random() % (bytes->size() - 8)), random() % 8,
                            std::byte(random() % 2 ? 0xff : random()));
        FoundSpots found(job);
        BlockResult result;
        if (unpack(block, job, 0, found, result)) {
            ++blocks;
            const std::size_t area = std::size_t(found.rois.size) * std::size_t(found.rois.size);
            ASSERT_EQ(found.rois.pixels.size(), found.scores.size() * area);
            ASSERT_EQ(found.fits.theta[4].size(), found.scores.size());
        }
        Groups taken(job);
        if (!taken.add(some, 2)) continue;
        ++groups;
        for (const JointCut& cut : taken.all()) {
            ASSERT_GE(cut.rectangle.left, 0);
            ASSERT_LE(cut.rectangle.left + cut.rectangle.width, width);
            ASSERT_LE(cut.rectangle.top + cut.rectangle.height, height);
            ASSERT_LT(cut.windows.back(), cut.pixels->count());
        }
    }
    EXPECT_GT(blocks, 1000);
    EXPECT_LT(blocks, 20000);
    EXPECT_GT(groups, 1000);
    EXPECT_LT(groups, 20000);
}

TEST(MovieParts, a_job_stays_within_its_memory) {
    std::optional<SharedMemory> memory = SharedMemory::create(1 << 16);
    ASSERT_TRUE(memory);
    const SharedMovie movie{job_with(Camera()), PixelType::uint16, std::move(*memory)};
    constexpr std::uint64_t frame = 2 * width * height;
    const MovieJob good{MovieWork::block, 3, 4096, 0, 1 << 15, 1 << 15};
    const auto holds = [&](const auto& change) {
        MovieJob job = good;
        change(job);
        return movie.holds(job);
    };
    EXPECT_TRUE(holds([](MovieJob&) {}));
    EXPECT_TRUE(holds([](MovieJob& j) { j.frames_at = (1 << 16) - 3 * frame; }));
    EXPECT_FALSE(holds([](MovieJob& j) { j.frames_at = (1 << 16) - 3 * frame + 1; }));
    EXPECT_FALSE(holds([](MovieJob& j) { j.frames_at = ~std::uint64_t(0); }));
    EXPECT_FALSE(holds([](MovieJob& j) { j.count = 0; }));
    EXPECT_FALSE(holds([](MovieJob& j) { j.count = ~0u; }));
    EXPECT_FALSE(holds([](MovieJob& j) { j.place += 8; }));
    EXPECT_FALSE(holds([](MovieJob& j) { j.place += 1, j.bytes -= 1; }));
    EXPECT_FALSE(holds([](MovieJob& j) { j.work = MovieWork(7); }));
    EXPECT_TRUE(holds([](MovieJob& j) { j.work = MovieWork::groups, j.place = 0, j.bytes = 1 << 16; }));
}

}  // namespace glint::worker
