// Movies on a real or simulated GPU that is short of memory, lost, shared, or one of several. Also movies that end with
// an error.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <thread>
#include <tuple>

#include "glint/error.hpp"
#include "tests/gpu_movie_fixture.hpp"
#include "tests/run_with_faults.hpp"
#include "tests/thorough.hpp"

namespace glint {

using namespace gpu_movie;
using test::read_bytes;

TEST_F(GpuMovie, takes_little_memory_where_there_is_little) {
    LocalizeOptions how = options(Backend::gpu);
    how.memory_bytes = 256 << 20;
    for (std::uint64_t bytes : {2 * mib, 4 * mib, 32 * mib}) {
        how.gpu_memory_bytes = bytes;
        EXPECT_EQ(bytes_of_run(how), undisturbed()) << bytes;
    }
}

// Detection needs more memory than expected, while the uploads of sixteen threads occupy theirs.
TEST_F(GpuMovie, needs_little_memory_if_noise_gets_through) {
    LocalizeOptions how = options(Backend::gpu);
    how.threads = 16, how.fit.emitters = 1, how.threshold = 1.5, how.neighbor_rounds = 0;
    how.memory_bytes = 256 << 20;
    const FrameBlock block = simulated(camera(), 20, 16, 128);
    const auto rows = [&](std::uint64_t bytes) {
        how.gpu_memory_bytes = bytes;
        const Localizations all = localize_frames(*memory_movie(block), camera(), how);
        return std::tuple(all.frame, all.x_px, all.photons);
    };
    const auto with_much = rows(64 * mib);
    EXPECT_GT(std::get<0>(with_much).size(), 2000u);
    for (std::uint64_t kib : {400, 500, 600}) EXPECT_EQ(rows(kib << 10), with_much) << kib;
}

TEST_F(GpuMovie, crowds_of_any_width_are_fitted_in_little_memory) {
    LocalizeOptions how = options(Backend::gpu);
    how.psf = psf(PsfModel::GaussianXYNBS), how.roi_size = 5;
    const FrameBlock crowded = simulated(camera(), 40, 12);
    how.gpu_memory_bytes = 64 * mib;
    const std::size_t rows = localize_frames(*memory_movie(crowded), camera(), how).size();
    EXPECT_GT(rows, 200u);
    for (std::uint64_t bytes : {2 * mib, 8 * mib}) {
        how.gpu_memory_bytes = bytes;
        const std::size_t with_little = localize_frames(*memory_movie(crowded), camera(), how).size();
        // Groups that need more memory than available are fitted on the CPU: a few molecules in a thousand differ.
        EXPECT_NEAR(double(with_little), double(rows), 0.02 * double(rows)) << bytes;
    }
}

namespace {

class Damaged : public Movie {
  public:
    Damaged(std::unique_ptr<Movie> movie, std::int64_t bad) : movie_(std::move(movie)), bad_(bad) {}
    const MovieInfo& info() const override { return movie_->info(); }
    void read(std::int64_t first, int count, FrameBlock& block) override {
        if (first <= bad_ && bad_ < first + count) throw InputError("a frame is damaged");
        movie_->read(first, count, block);
    }

  private:
    std::unique_ptr<Movie> movie_;
    std::int64_t bad_;
};

}  // namespace

TEST_F(GpuMovie, frames_before_a_bad_one_are_kept) {
    Damaged damaged(movie(), 21);
    const auto out = folder / "damaged.csv";
    EXPECT_THROW(localize(damaged, camera(), out, options(Backend::gpu)), InputError);
    LocalizeOptions how = options(Backend::gpu);
    how.frames = {0, 21};
    localize(*movie(), camera(), folder / "whole.csv", how);
    EXPECT_EQ(read_bytes(folder / "damaged.partial.csv"), read_bytes(folder / "whole.csv"));
}

// Frames of 2.2 MB are uploaded one by one. The frames of a block before a bad frame count; the remaining frames of the
// block do not.
TEST_F(GpuMovie, large_frames_before_a_bad_one_are_kept) {
    constexpr int count = 8, large = 1050;
    const FrameBlock block = simulated(camera(), 3, count, large);
    LocalizeOptions how = options(Backend::gpu);
    how.threads = 1, how.memory_bytes = std::size_t(64) << 20;  // blocks of 4 frames
    how.fit.psf_misfit = 0.05;                                  // set, because estimating it would read other frames
    const Localizations all = localize_frames(*memory_movie(block), camera(), how);
    for (int bad : {1, 6}) {
        Damaged damaged(memory_movie(block), bad);
        const auto out = folder / fmt::format("damaged{}.csv", bad), whole = folder / fmt::format("whole{}.csv", bad);
        EXPECT_THROW(localize(damaged, camera(), out, how), InputError);
        LocalizeOptions before = how;
        before.frames = {0, bad};
        const LocalizeResult result = localize(*memory_movie(block), camera(), whole, before);
        EXPECT_EQ(read_bytes(folder / fmt::format("damaged{}.partial.csv", bad)), read_bytes(whole));
        EXPECT_EQ(result.localizations, std::ranges::count_if(all.frame, [&](auto frame) { return int(frame) < bad; }));
    }
}

namespace {

constexpr int long_movie = 260, small_frame = 16;  // frames, px

/// Localizes on up to `gpus` GPUs, in blocks of one frame, so that there is enough work for two.
Localizations by_gpus(int gpus, LocalizeResult* result = nullptr, const Progress& progress = {}) {
    static const FrameBlock block = simulated(camera(), 1, long_movie, small_frame);
    LocalizeOptions how = options(Backend::gpu);
    how.memory_bytes = 1, how.gpus = gpus, how.progress = progress;
    return localize_frames(*memory_movie(block), camera(), how, result);
}

void expect_equal(const Localizations& a, const Localizations& b) {
    EXPECT_EQ(a.frame, b.frame);
    EXPECT_EQ(a.x_px, b.x_px);
    EXPECT_EQ(a.photons, b.photons);
    EXPECT_EQ(a.p_value, b.p_value);
}

}  // namespace

TEST_F(GpuMovie, is_the_same_after_it_gave_way_to_a_shorter_work) {
    const Localizations alone = by_gpus(1);
    const std::uint64_t all_but_a_context = gpu::inventory().devices.at(0).free_bytes - 600 * mib;
    std::future<double> other;
    const auto slowly = [&](auto...) {
        if (!other.valid())
            other = std::async(std::launch::async, [&] {
                return gpu::acquire(
                           {.bytes = all_but_a_context, .gpus = gpu_count(), .timeout_s = 60, .expected_s = 0.5})
                    .waited_s();
            });
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    };
    ::setenv("GLINT_GPU_QUANTUM", "1", 1);
    bool gave_way = false;
    for (int attempt = 0; attempt < 5 && !gave_way; ++attempt) {  // the heartbeat may come too late
        LocalizeResult result;
        expect_equal(by_gpus(1, &result, slowly), alone);
        EXPECT_GT(other.get(), 0);
        EXPECT_EQ(result.frames, long_movie);
        EXPECT_EQ(result.fit.retries, 0);
        gave_way = std::ranges::any_of(result.fit.events, [](const FitEvent& event) {
            return event.what.find("back for a while") != std::string::npos;
        });
    }
    ::unsetenv("GLINT_GPU_QUANTUM");
    EXPECT_TRUE(gave_way);
}

TEST_F(GpuMovie, is_the_same_on_several_gpus) {
    if (gpu_count() < 2) GTEST_SKIP() << "there is one GPU";
    const Localizations one = by_gpus(1);
    LocalizeResult result;
    for (int attempt = 0; attempt < 20 && result.fit.gpus.size() < 2; ++attempt)  // the second GPU may come too late
        expect_equal(by_gpus(all_gpus, &result), one);
    ASSERT_EQ(result.fit.gpus.size(), 2u);
    EXPECT_EQ(result.frames, long_movie);
    EXPECT_EQ(result.fit.gpus[0].fits + result.fit.gpus[1].fits, result.spots);
    EXPECT_GE(result.fit.bytes_up, std::int64_t(long_movie) * small_frame * small_frame * 2);
    EXPECT_EQ(result.fit.device.rfind("2x ", 0), 0u) << result.fit.device;
}

// Each case runs in its own process, whose simulated driver fails as configured.
TEST_F(GpuMovie, DISABLED_in_a_child_survives_on_several_gpus) {
    LocalizeResult result;
    const Localizations rows = by_gpus(all_gpus, &result);
    EXPECT_EQ(result.frames, long_movie);
    expect_equal(rows, by_gpus(1));  // no faults are left by then
}
TEST_F(GpuMovie, DISABLED_in_a_child_survives) {
    LocalizeResult result;
    const std::string bytes = bytes_of_run(options(Backend::gpu), &result);
    EXPECT_EQ(result.frames, frames);
    EXPECT_EQ(bytes, undisturbed());  // no faults are left by then
}
TEST_F(GpuMovie, DISABLED_in_a_child_survives_with_one_thread) {
    LocalizeOptions how = options(Backend::gpu);
    how.threads = 1, how.fit.emitters = 1;
    const std::string bytes = bytes_of_run(how);
    EXPECT_EQ(bytes, bytes_of_run(how));  // no faults are left by then
}
TEST_F(GpuMovie, DISABLED_in_a_child_falls_back) {
    LocalizeResult result;
    LocalizeOptions how = options(Backend::automatic);
    how.auto_timeout_s = 0.1;
    bytes_of_run(how, &result);
    EXPECT_TRUE(result.complete);
    EXPECT_EQ(result.frames, frames);
    EXPECT_FALSE(result.fit.note.empty());
    expect_same(
        localize_frames(*movie(), camera(), options(Backend::cpu)),
        [&] { return localize_frames(*movie(), camera(), how); }(), 1e-3f);
}

TEST_F(GpuMovie, survives_every_fault) {
    if (!gpu::test::set_stranger()) GTEST_SKIP() << "a real driver does not fail on demand";
    int cases = 0;
    for (const char* fault : {"cuMemAllocFromPoolAsync:5:2", "cuMemAllocFromPoolAsync:30:2", "cuMemcpyHtoDAsync:9:999",
                              "cuMemcpyDtoHAsync:4:999", "cuLaunchKernel:6:999", "cuLaunchKernel:40:2",
                              "cuStreamSynchronize:3:999", "cuModuleLoadData:2:2", "cuStreamCreate:3:2"}) {
        if (!test::has_turn(cases++, 3)) continue;
        SCOPED_TRACE(fault);
        test::expect_passes("GpuMovie", "survives", fault);
    }
}

// Memory fails until only one frame is processed at a time, and once more for a frame after completed frames.
TEST_F(GpuMovie, frames_are_done_once_where_memory_fails_twice) {
    if (!gpu::test::set_stranger()) GTEST_SKIP() << "a real driver does not fail on demand";
    struct Calls {
        int first, count, again;  // five failures are one attempt
    };
    int cases = 0;
    for (const auto& [first, count, again] : {Calls{16, 15, 53}, {16, 20, 60}, {20, 15, 78}}) {
        if (!test::has_turn(cases++, 3)) continue;
        SCOPED_TRACE(first);
        std::string faults;
        for (int call = first; call < again + 5; ++call)
            if (call < first + count || call >= again) faults += fmt::format("cuMemAllocFromPoolAsync:{}:2,", call);
        faults.pop_back();
        test::expect_passes("GpuMovie", "survives_with_one_thread", faults);
    }
}

TEST_F(GpuMovie, goes_on_elsewhere_when_a_gpu_is_lost) {
    if (!gpu::test::set_stranger()) GTEST_SKIP() << "a real driver does not fail on demand";
    if (gpu_count() < 2) GTEST_SKIP() << "there is one GPU";
    int cases = 0;
    for (const char* fault : {"cuLaunchKernel:8~:700 SIMGPU_LEAKS=0", "cuLaunchKernel:60~:700 SIMGPU_LEAKS=0",
                              "cuMemcpyDtoHAsync:9~:700 SIMGPU_LEAKS=0"}) {
        if (!test::has_turn(cases++, 3)) continue;
        SCOPED_TRACE(fault);
        test::expect_passes("GpuMovie", "survives", fault);
    }
    test::expect_passes("GpuMovie", "falls_back",
                        "cuLaunchKernel:20~:700,cuDevicePrimaryCtxRetain:2+:2 SIMGPU_LEAKS=0");
}

TEST_F(GpuMovie, one_of_several_is_lost_at_any_point) {
    if (!gpu::test::set_stranger()) GTEST_SKIP() << "a real driver does not fail on demand";
    if (gpu_count() < 2) GTEST_SKIP() << "there is one GPU";
    int cases = 0;
    for (const char* fault : {"cuLaunchKernel:700~:700 SIMGPU_LEAKS=0", "cuMemcpyDtoHAsync:200~:700 SIMGPU_LEAKS=0",
                              "cuMemcpyHtoDAsync:99:999", "cuDevicePrimaryCtxRetain:2:2"}) {
        if (!test::has_turn(cases++, 2)) continue;
        SCOPED_TRACE(fault);
        test::expect_passes("GpuMovie", "survives_on_several_gpus", fault);
    }
}

TEST_F(GpuMovie, automatic_takes_the_cpu_where_no_gpu_can_be_had) {
    if (!gpu::test::set_stranger()) GTEST_SKIP() << "a real driver does not fail on demand";
    test::expect_passes("GpuMovie", "falls_back", "cuDevicePrimaryCtxRetain:1+:2");
}

}  // namespace glint
