// Movies localized on a real or simulated GPU equal the CPU's localizations.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <limits>

#include "glint/localization_io.hpp"
#include "tests/gpu_movie_fixture.hpp"
#include "tests/noise_frames.hpp"
#include "tests/thorough.hpp"

namespace glint {
namespace {

using namespace gpu_movie;
using test::read_bytes;

void compare(const FrameBlock& block, const Camera& by, LocalizeOptions how, std::size_t least, float part = 1e-3f,
             std::size_t max_unpaired = 3) {
    const auto run = [&](Backend backend) {
        how.backend = backend;
        return localize_frames(*memory_movie(block), by, how);
    };
    const Localizations cpu = run(Backend::cpu), gpu = run(Backend::gpu);
    EXPECT_GE(cpu.size(), least);
    expect_same(cpu, gpu, part, max_unpaired);
}

}  // namespace

TEST_F(GpuMovie, gives_the_cpu_s_localizations) {
    LocalizeOptions how = options(Backend::gpu);
    how.fit.emitters = 1;
    compare(simulated(camera()), camera(), how, 150);
    compare(simulated(with_maps()), with_maps(), how, 150);
    how.psf = psf(PsfModel::GaussianXYNBS);
    how.roi_size = 8;
    compare(simulated(camera()), camera(), how, 100);
    how = options(Backend::gpu);
    how.threshold = 3, how.neighbor_rounds = 0;  // noise gets through
    compare(simulated(camera(), 0.1), camera(), how, 50);
}

TEST_F(GpuMovie, gives_the_cpu_s_localizations_of_frames_with_missing_pixels) {
    for (const Camera& by : {camera(), with_maps()}) {
        const FrameBlock counts = simulated(by, 15);
        FrameBlock block = counts;
        block.type = PixelType::float32;
        block.bytes.resize(block.frame_bytes() * std::size_t(block.count));
        const auto* from = reinterpret_cast<const std::uint16_t*>(counts.bytes.data());
        auto* to = reinterpret_cast<float*>(block.bytes.data());
        for (int k = 0; k < frames * width * height; ++k) {
            const int frame = k / (width * height), x = k % width, y = k / width % height;
            to[k] = x < frame % 20 || y < x * (frame % 3) / 10 ? std::numeric_limits<float>::quiet_NaN() : from[k];
        }
        LocalizeOptions how = options(Backend::gpu);
        compare(block, by, how, 300, 2e-2f, 6);
        how.fit.emitters = 1;
        compare(block, by, how, 200);
    }
}

TEST_F(GpuMovie, gives_the_cpu_s_localizations_of_frames_with_unusable_pixels) {
    for (const Camera& by : {camera(), with_maps()}) {
        FrameBlock block = simulated(by, 15);
        auto* counts = reinterpret_cast<std::uint16_t*>(block.bytes.data());
        for (int k = 0; k < frames * width * height; ++k) {
            const int at = k % (width * height), frame = k / (width * height);
            counts[k] = std::uint16_t(std::min(counts[k] + (at % 397 == 11 ? 300 : 0), 255));  // hot, and saturated
            if (at == 7 * width + frame) counts[k] = 250;                                      // a hit
        }
        LocalizeOptions how = options(Backend::gpu);
        LocalizeResult result;
        localize_frames(*memory_movie(block), by, how, &result);
        EXPECT_GT(result.defective_pixels, 0);
        EXPECT_GT(result.saturated_spots, 0);
        EXPECT_GT(result.hits, 0);
        compare(block, by, how, 200, 2e-2f, 6);
        how.fit.emitters = 1;
        compare(block, by, how, 200, 1e-2f, 6);
    }
}

TEST_F(GpuMovie, reports_borders_of_zeros) {
    FrameBlock block = simulated(camera());
    auto* counts = reinterpret_cast<std::uint16_t*>(block.bytes.data());
    for (int k = 0; k < frames * width * height; ++k)
        if (k / (width * height) >= 10 && k % width < 2) counts[k] = 0;
    std::vector<std::string> warnings;
    LocalizeOptions how = options(Backend::gpu);
    how.fit.emitters = 1, how.warn = [&](const std::string& warning) { warnings.push_back(warning); };
    LocalizeResult result;
    localize_frames(*memory_movie(block), camera(), how, &result);
    EXPECT_EQ(result.zero_border_frames, frames - 10);
    EXPECT_TRUE(std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
        return warning.find("30 of 40 frames, the first of them 10, have a border of zeros") != warning.npos;
    }));
}

TEST_F(GpuMovie, gives_the_cpu_s_localizations_of_crowded_frames) {
    LocalizeOptions how = options(Backend::gpu);
    how.fit.emitters = 1;
    compare(simulated(camera(), 40), camera(), how, 500);
    Camera uneven = with_maps();
    compare(simulated(uneven, 40), uneven, how, 500);
    for (int k = 0; k < width * height; ++k) uneven.relative_qe.map.push_back(0.8f + 0.1f * float(k % 5));
    compare(simulated(uneven, 40), uneven, how, 500);
}

TEST_F(GpuMovie, gives_the_cpu_s_localizations_fitted_together) {
    LocalizeOptions how = options(Backend::gpu);
    how.fit.emitters = any_emitters;
    // Rounding may decide whether a parameter that is close to the tolerance needs another iteration. This is more
    // likely with the many parameters of a group. Parameters of close pairs converge by less than a factor of two per
    // iteration. In the densest movie, 2 rows in 1,000 differ for that reason (10 seeds), a few of a group together.
    how.fit.tolerance = 1e-3f;
    const float part = 1e-2f;
    compare(simulated(camera(), 15), camera(), how, 300, part);
    compare(simulated(camera(), 40), camera(), how, 500, part, 16);
    const Camera uneven = with_maps();
    compare(simulated(uneven, 15), uneven, how, 300, part);
}

TEST_F(GpuMovie, gives_the_cpu_s_localizations_of_real_movies) {
    const char* folder_of_movies = std::getenv("GLINT_DATA");
    if (!folder_of_movies) GTEST_SKIP() << "GLINT_DATA names no folder with movies";
    LocalizeOptions how = options(Backend::gpu);
    how.memory_bytes = 16 << 20;
    how.fit.tolerance = 1e-3f;  // molecules overlap, as above
    struct Taken {
        const char* name;
        float offset_adu, gain_e_per_adu;
    };
    for (const auto& [name, offset, gain] :
         {Taken{"sim_2d_low_density.tif", 500, 1}, Taken{"single_molecules_pmhc.tif", 202, 0.077f}}) {
        SCOPED_TRACE(name);
        Camera by;
        by.offset_adu.scalar = offset, by.gain_e_per_adu.scalar = gain;
        FrameBlock block;
        open_movie(std::filesystem::path(folder_of_movies) / name)->read(0, 10, block);
        compare(block, by, how, 20, 1e-2f);
    }
}

TEST_F(GpuMovie, reports_what_was_done) {
    LocalizeOptions how = options(Backend::gpu);
    LocalizeResult result;
    bytes_of_run(how, &result);
    EXPECT_GT(result.fit.bytes_up, std::int64_t(frames) * width * height * 2);  // includes uploads of groups
    how.fit.emitters = 1;
    bytes_of_run(how, &result);
    EXPECT_TRUE(result.complete);
    EXPECT_EQ(result.frames, frames);
    EXPECT_EQ(result.fit.backend, "gpu");
    EXPECT_EQ(result.fit.fits, result.spots);
    EXPECT_EQ(result.fit.bytes_up, std::int64_t(frames) * width * height * 2);
    EXPECT_GT(result.fit.bytes_down, 0);
    EXPECT_NEAR(result.noise_check, 1, 4 * test::noise_check_error(width, height, 8, frames));
}

TEST_F(GpuMovie, automatic_reports_its_decision) {
    LocalizeOptions how = options(Backend::automatic);
    how.always_gpu = false;
    std::vector<std::string> told;
    how.on_decision = [&](const std::string& words) { told.push_back(words); };
    LocalizeResult result;
    bytes_of_run(how, &result);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_NE(told.front().find("localize GaussianXYNB 7 px"), std::string::npos) << told.front();
    EXPECT_EQ(told.front().rfind(result.fit.decision, 0), 0u);
    EXPECT_EQ(result.fit.backend, result.fit.note.empty() ? "gpu" : "cpu");
}

TEST_F(GpuMovie, is_the_same_for_any_threads_memory_and_blocks) {
    for (const auto& [threads, memory] : {std::pair(1, std::size_t(1)), {2, 5 * width * height * 2}, {8, 256 << 20}}) {
        LocalizeOptions how = options(Backend::gpu);
        how.threads = threads, how.memory_bytes = memory;
        EXPECT_EQ(bytes_of_run(how), undisturbed()) << threads;
    }
}

TEST_F(GpuMovie, is_the_same_after_a_stop_and_a_resume) {
    StopFlag stop{false};
    LocalizeOptions how = options(Backend::gpu);
    how.threads = 1;
    how.stop = &stop;
    how.progress = [&](std::int64_t done, std::int64_t, std::int64_t) { stop = done > 10; };
    const auto out = folder / "stopped.csv";
    const LocalizeResult stopped = localize(*movie(), camera(), out, how);
    EXPECT_FALSE(stopped.complete);
    EXPECT_GT(stopped.frames, 10);
    EXPECT_LT(stopped.frames, frames);
    how.stop = nullptr, how.progress = {};
    how.resume = true;
    const LocalizeResult resumed = localize(*movie(), camera(), out, how);
    EXPECT_EQ(resumed.resumed_frames, stopped.frames);
    EXPECT_EQ(read_bytes(out), undisturbed());
}

}  // namespace glint
