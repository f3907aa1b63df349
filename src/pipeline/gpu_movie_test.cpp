// Movies localized on a GPU, real or simulated: the CPU's localizations, whatever befalls the GPU.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <future>
#include <limits>
#include <thread>
#include <tuple>

#include "glint/error.hpp"
#include "glint/gpu_fit.hpp"
#include "glint/localization_io.hpp"
#include "glint/localize.hpp"
#include "glint/movie_io.hpp"
#include "gpu/gpu_fixture.hpp"
#include "tests/noise_frames.hpp"
#include "tests/run_with_faults.hpp"
#include "tests/simulated_movie.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/thorough.hpp"

namespace glint {
namespace {

using test::read_bytes;
constexpr int frames = 40, width = 64, height = 48;
constexpr std::uint64_t mib = gpu::test::mib;

Camera camera() { return test::scmos_camera(); }
Camera with_maps() { return test::mapped_camera(width, height); }

Psf psf(PsfModel model = PsfModel::GaussianXYNB) {
    Psf psf;
    psf.model = model, psf.sigma_um = 0.13;
    return psf;
}

FrameBlock simulated(const Camera& by, double spots = 8, int count = frames, int size = 0) {
    return test::simulated_frames(by, size ? size : width, size ? size : height, count, spots);
}

std::unique_ptr<Movie> movie() {
    static const FrameBlock block = simulated(camera());
    return memory_movie(block, "simulated.tif");
}

LocalizeOptions options(Backend backend) {
    LocalizeOptions how;
    how.psf = psf();
    how.pixel_size_nm = 100;
    how.threads = 3;
    how.memory_bytes = 16 * width * height * 2;  // several blocks
    how.fit.backend = backend;
    how.fit.gpu_memory_bytes = 64 * mib;
    how.fit.gpu_timeout_s = 60;  // a test that waits so long has failed
    how.fit.always_gpu = true;   // costs are not what is tested
    return how;
}

class GpuMovie : public gpu::test::GpuTest {
  protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (!IsSkipped() && !has_gpu_kernels()) GTEST_SKIP() << "built without nvcc: there are no kernels";
    }

    /// The bytes of a run into a new file.
    std::string bytes_of_run(const LocalizeOptions& how, LocalizeResult* result = nullptr) {
        const auto out = folder / (std::to_string(++runs) + ".csv");
        const LocalizeResult done = localize(*movie(), camera(), out, how);
        if (result) *result = done;
        return read_bytes(out);
    }
    const std::string& undisturbed() {
        static const std::string bytes = bytes_of_run(options(Backend::gpu));
        return bytes;
    }

    test::TemporaryFolder folder;
    int runs = 0;
};

/// A row has a partner when one of the same frame is the same within that part of the standard errors.
bool is_same(const Localizations& cpu, std::size_t i, const Localizations& gpu, std::size_t k, float part) {
    const auto near = [](float a, float b, float most) { return std::abs(a - b) <= most; };
    return std::hypot(cpu.x_px[i] - gpu.x_px[k], cpu.y_px[i] - gpu.y_px[k]) <= part * cpu.lpx_px[i] &&
           near(cpu.photons[i], gpu.photons[k], part * cpu.photons_unc[i]) &&
           near(cpu.bg[i], gpu.bg[k], part * cpu.bg_unc[i]) &&
           near(cpu.lpx_px[i], gpu.lpx_px[k], 0.01f * cpu.lpx_px[i]) &&
           near(cpu.detection_score[i], gpu.detection_score[k], 1e-3f * cpu.detection_score[i]);
}

/// At most so many rows have no partner: where rounding decided on one iteration more (docs/decisions.md). That is 1 in
/// 10,000 of single fits, so of the thousand rows of a test hardly ever more than 3.
void expect_same(const Localizations& cpu, const Localizations& gpu, float part = 1e-3f, std::size_t most_alone = 3) {
    std::size_t alone = std::max(cpu.size(), gpu.size()), begin = 0;
    for (std::size_t i = 0; i < cpu.size(); ++i) {
        while (begin < gpu.size() && gpu.frame[begin] < cpu.frame[i]) ++begin;
        std::size_t k = begin;
        while (k < gpu.size() && gpu.frame[k] == cpu.frame[i] && !is_same(cpu, i, gpu, k, part)) ++k;
        if (k < gpu.size() && gpu.frame[k] == cpu.frame[i]) --alone;
    }
    EXPECT_LE(alone, most_alone) << "of " << cpu.size() << " rows";
    EXPECT_TRUE(std::is_sorted(gpu.frame.begin(), gpu.frame.end()));
}

void compare(const FrameBlock& block, const Camera& by, LocalizeOptions how, std::size_t least, float part = 1e-3f,
             std::size_t most_alone = 3) {
    const auto run = [&](Backend backend) {
        how.fit.backend = backend;
        return localize_frames(*memory_movie(block), by, how);
    };
    const Localizations cpu = run(Backend::cpu), gpu = run(Backend::gpu);
    EXPECT_GE(cpu.size(), least);
    expect_same(cpu, gpu, part, most_alone);
}

}  // namespace

TEST_F(GpuMovie, gives_the_cpu_s_localizations) {
    LocalizeOptions how = options(Backend::gpu);
    how.emitters = 1;
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
        how.emitters = 1;
        compare(block, by, how, 200);
    }
}

TEST_F(GpuMovie, tells_borders_of_zeros) {
    FrameBlock block = simulated(camera());
    auto* counts = reinterpret_cast<std::uint16_t*>(block.bytes.data());
    for (int k = 0; k < frames * width * height; ++k)
        if (k / (width * height) >= 10 && k % width < 2) counts[k] = 0;
    std::vector<std::string> warnings;
    LocalizeOptions how = options(Backend::gpu);
    how.emitters = 1, how.warn = [&](const std::string& warning) { warnings.push_back(warning); };
    LocalizeResult result;
    localize_frames(*memory_movie(block), camera(), how, &result);
    EXPECT_EQ(result.zero_border_frames, frames - 10);
    EXPECT_TRUE(std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
        return warning.find("30 of 40 frames, the first of them 10, have a border of zeros") != warning.npos;
    }));
}

TEST_F(GpuMovie, gives_the_cpu_s_localizations_of_crowded_frames) {
    LocalizeOptions how = options(Backend::gpu);
    how.emitters = 1;
    compare(simulated(camera(), 40), camera(), how, 500);
    Camera uneven = with_maps();
    compare(simulated(uneven, 40), uneven, how, 500);
    for (int k = 0; k < width * height; ++k) uneven.relative_qe.map.push_back(0.8f + 0.1f * float(k % 5));
    compare(simulated(uneven, 40), uneven, how, 500);
}

TEST_F(GpuMovie, gives_the_cpu_s_localizations_fitted_together) {
    LocalizeOptions how = options(Backend::gpu);
    how.emitters = any_emitters;
    // Of a group's many parameters one is more often so close to the tolerance that rounding decides on another iteration,
    // and those of close pairs converge by less than a factor of two each. In the densest movie 2 rows in 1,000 differ
    // for that reason (10 seeds), a few of a group at once.
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

TEST_F(GpuMovie, says_what_was_done) {
    LocalizeOptions how = options(Backend::gpu);
    LocalizeResult result;
    bytes_of_run(how, &result);
    EXPECT_GT(result.fit.bytes_up, std::int64_t(frames) * width * height * 2);  // groups, too
    how.emitters = 1;
    bytes_of_run(how, &result);
    EXPECT_TRUE(result.complete);
    EXPECT_EQ(result.frames, frames);
    EXPECT_EQ(result.fit.backend, "gpu");
    EXPECT_EQ(result.fit.fits, result.spots);
    EXPECT_EQ(result.fit.bytes_up, std::int64_t(frames) * width * height * 2);
    EXPECT_GT(result.fit.bytes_down, 0);
    EXPECT_NEAR(result.noise_check, 1, 4 * test::noise_check_error(width, height, 8, frames));
}

TEST_F(GpuMovie, automatic_says_how_it_decided) {
    LocalizeOptions how = options(Backend::automatic);
    how.fit.always_gpu = false;
    std::vector<std::string> told;
    how.fit.on_decision = [&](const std::string& words) { told.push_back(words); };
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

TEST_F(GpuMovie, takes_little_memory_where_there_is_little) {
    LocalizeOptions how = options(Backend::gpu);
    how.memory_bytes = 256 << 20;
    for (std::uint64_t bytes : {2 * mib, 4 * mib, 32 * mib}) {
        how.fit.gpu_memory_bytes = bytes;
        EXPECT_EQ(bytes_of_run(how), undisturbed()) << bytes;
    }
}

// More memory than was expected, while that of sixteen threads' uploads is taken.
TEST_F(GpuMovie, takes_little_memory_where_noise_gets_through) {
    LocalizeOptions how = options(Backend::gpu);
    how.threads = 16, how.emitters = 1, how.threshold = 1.5, how.neighbor_rounds = 0;
    how.memory_bytes = 256 << 20;
    const FrameBlock block = simulated(camera(), 20, 16, 128);
    const auto rows = [&](std::uint64_t bytes) {
        how.fit.gpu_memory_bytes = bytes;
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
    how.fit.gpu_memory_bytes = 64 * mib;
    const std::size_t rows = localize_frames(*memory_movie(crowded), camera(), how).size();
    EXPECT_GT(rows, 200u);
    for (std::uint64_t bytes : {2 * mib, 8 * mib}) {
        how.fit.gpu_memory_bytes = bytes;
        const std::size_t with_little = localize_frames(*memory_movie(crowded), camera(), how).size();
        // Groups that need more than there is are fitted on the CPU: a few molecules of one in some thousand differ.
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

// Frames of 2.2 MB are uploaded one by one: those of a block before a bad one count, and the rest of the block does not.
TEST_F(GpuMovie, large_frames_before_a_bad_one_are_kept) {
    constexpr int count = 8, large = 1050;
    const FrameBlock block = simulated(camera(), 3, count, large);
    LocalizeOptions how = options(Backend::gpu);
    how.threads = 1, how.memory_bytes = std::size_t(64) << 20;  // blocks of 4 frames
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

/// By up to so many GPUs, in blocks of a frame, so that there is something to do for two.
Localizations by_gpus(int gpus, LocalizeResult* result = nullptr, const Progress& progress = {}) {
    static const FrameBlock block = simulated(camera(), 1, long_movie, small_frame);
    LocalizeOptions how = options(Backend::gpu);
    how.memory_bytes = 1, how.fit.gpus = gpus, how.progress = progress;
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
    for (int attempt = 0; attempt < 20 && result.fit.gpus.size() < 2; ++attempt)  // the second may come too late
        expect_equal(by_gpus(all_gpus, &result), one);
    ASSERT_EQ(result.fit.gpus.size(), 2u);
    EXPECT_EQ(result.frames, long_movie);
    EXPECT_EQ(result.fit.gpus[0].fits + result.fit.gpus[1].fits, result.spots);
    EXPECT_GE(result.fit.bytes_up, std::int64_t(long_movie) * small_frame * small_frame * 2);
    EXPECT_EQ(result.fit.device.rfind("2x ", 0), 0u) << result.fit.device;
}

// Each runs in a process of its own, whose simulated driver fails as it is told.
TEST_F(GpuMovie, DISABLED_in_a_child_survives_on_several_gpus) {
    LocalizeResult result;
    const Localizations rows = by_gpus(all_gpus, &result);
    EXPECT_EQ(result.frames, long_movie);
    expect_equal(rows, by_gpus(1));  // faults are over by then
}
TEST_F(GpuMovie, DISABLED_in_a_child_survives) {
    LocalizeResult result;
    const std::string bytes = bytes_of_run(options(Backend::gpu), &result);
    EXPECT_EQ(result.frames, frames);
    EXPECT_EQ(bytes, undisturbed());  // faults are over by then
}
TEST_F(GpuMovie, DISABLED_in_a_child_survives_with_one_thread) {
    LocalizeOptions how = options(Backend::gpu);
    how.threads = 1, how.emitters = 1;
    const std::string bytes = bytes_of_run(how);
    EXPECT_EQ(bytes, bytes_of_run(how));  // faults are over by then
}
TEST_F(GpuMovie, DISABLED_in_a_child_falls_back) {
    LocalizeResult result;
    LocalizeOptions how = options(Backend::automatic);
    how.fit.auto_timeout_s = 0.1;
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

// First until it takes a frame at a time, then once more, for a frame after those that it has done.
TEST_F(GpuMovie, frames_are_done_once_where_memory_fails_twice) {
    if (!gpu::test::set_stranger()) GTEST_SKIP() << "a real driver does not fail on demand";
    struct Calls {
        int first, count, again;  // five are one attempt
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
