// Times the stages of `glint bench localize`, each alone, on a few hundred frames of the movie.
// SPDX-License-Identifier: MIT
#include "bench/localize_stages.hpp"

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>

#include "glint/gpu_fit.hpp"
#include "glint/localization_io.hpp"
#include "glint/movie_io.hpp"
#include "pipeline/cpu_localizer.hpp"
#include "pipeline/frame_upload.hpp"
#include "pipeline/gpu_localizer.hpp"
#include "run/finished_frames.hpp"

namespace glint::cli {
namespace {

constexpr int frames_of_a_block = 16, max_frames = 512;

double seconds_of(const std::function<void()>& work) {
    const auto began = std::chrono::steady_clock::now();
    work();
    return std::max(1e-9, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
}

/// The first frames of a movie, in blocks, and the results of each stage.
struct Sample {
    LocalizeJob job;
    std::vector<FrameBlock> blocks;
    std::vector<FoundSpots> found;
    std::vector<BlockResult> results;
    std::int64_t frames = 0;

    Sample(Movie& movie, const Camera& camera, const LocalizeOptions& options)
        : job(make_job(movie.info(), camera, options)) {
        frames = std::min<std::int64_t>(movie.info().frames, max_frames) / frames_of_a_block * frames_of_a_block;
        frames = std::max<std::int64_t>(1, frames);
        blocks.resize(std::size_t((frames + frames_of_a_block - 1) / frames_of_a_block));
        for (std::size_t k = 0; k < blocks.size(); ++k) {
            const std::int64_t first = std::int64_t(k) * frames_of_a_block;
            movie.read(first, int(std::min<std::int64_t>(frames_of_a_block, frames - first)), blocks[k]);
        }
        found.resize(blocks.size(), FoundSpots(job)), results.resize(blocks.size());
    }

    void find(std::size_t k) {
        std::vector<float> electrons(std::size_t(job.camera.width()) * std::size_t(job.camera.height()));
        Detector detector(job.camera, detect_options(job));
        Spots spots;
        for (int i = 0; i < blocks[k].count; ++i) {
            job.camera.to_photoelectrons(blocks[k].frame(i), blocks[k].type, electrons);
            detector.find(electrons, spots);
            results[k].noise_checks.push_back(float(detector.noise_check()));
            found[k].cut(electrons, job.camera, spots, std::uint32_t(blocks[k].first_frame + i));
        }
        results[k].first_frame = blocks[k].first_frame;
    }
    void fit(std::size_t k) {
        Fitter fitter;
        FitInfo unused;
        found[k].fits = fit_on_this_thread(job, fitter, found[k].rois, unused);
    }
    void select(std::size_t k) {
        Fitter fitter;
        add_rows(job, fitter, found[k], results[k]);
    }
};

}  // namespace

std::vector<StageRate> cpu_stages(const std::filesystem::path& movie_path, const Camera& camera,
                                  const LocalizeOptions& options, const std::filesystem::path& folder) {
    const auto movie = open_movie(movie_path);
    Sample sample(*movie, camera, options);
    const std::string all_threads = fmt::format("{} threads", sample.job.threads);
    std::vector<StageRate> rates;
    tbb::task_arena arena(sample.job.threads);
    const auto add = [&](const char* stage, std::int64_t frames, double seconds, const std::string& by) {
        rates.push_back({stage, double(frames) / seconds, by});
    };
    const auto by_all = [&](std::size_t n, const std::function<void(std::size_t)>& work) {
        return seconds_of([&] { arena.execute([&] { tbb::parallel_for(std::size_t(0), n, work); }); });
    };
    // The whole movie, into the same memory, so that only reading takes time.
    const std::int64_t frames = movie->info().frames;
    const std::size_t whole = std::size_t(frames / frames_of_a_block);
    tbb::enumerable_thread_specific<FrameBlock> to;
    const auto read = [&](std::size_t k) {
        movie->read(std::int64_t(k) * frames_of_a_block, frames_of_a_block, to.local());
    };
    if (whole > 0) {
        by_all(std::min<std::size_t>(whole, 4 * std::size_t(sample.job.threads)), read);
        add("read and decode", std::int64_t(whole) * frames_of_a_block, by_all(whole, read), all_threads);
    }
    const std::size_t n = sample.blocks.size();
    add("CPU: find spots", sample.frames, by_all(n, [&](std::size_t k) { sample.find(k); }), all_threads);
    add("CPU: fit", sample.frames, by_all(n, [&](std::size_t k) { sample.fit(k); }), all_threads);
    add("CPU: neighbours, select", sample.frames, by_all(n, [&](std::size_t k) { sample.select(k); }), all_threads);

    const auto out = folder / "stages.hdf5";
    RecordFile journal(journal_path(out), TableLayout(sample.job.like));
    FinishedFrames finished({}, TableLayout(sample.job.like), sample.job.frames);
    journal.open_locked();
    journal.start({});
    add("journal", sample.frames, seconds_of([&] {
            for (const BlockResult& result : sample.results) finished.append_to(journal, result);
        }),
        "one thread");
    std::size_t rows = 0;
    for (const BlockResult& result : sample.results) rows += result.rows.size();
    add("final file", sample.frames, seconds_of([&] {
            LocalizationWriter writer(out, sample.job.like, rows, {});
            finished.for_each([&](const BlockResult& block) {
                if (block.rows.size() > 0) writer.append(block.rows);
            });
            writer.close();
        }),
        "one thread");
    journal.remove();
    return rates;
}

std::vector<StageRate> gpu_stages(const std::filesystem::path& movie_path, const Camera& camera,
                                  const LocalizeOptions& options) {
    constexpr int repeats = 20, frames_at_once = 32;
    const auto movie = open_movie(movie_path);
    const LocalizeJob job = make_job(movie->info(), camera, options);
    GpuFitter gpu(gpu::LeaseRequest{.bytes = options.gpu_memory_bytes});
    const int frames = int(std::min<std::int64_t>(movie->info().frames, frames_at_once));
    FrameBlock block;
    movie->read(0, frames, block);
    const auto read = [&](int first, int count, std::byte* to) {
        std::memcpy(to, block.frame(first), std::size_t(count) * block.frame_bytes());
        return count;
    };
    FrameUpload upload(gpu.context(), block.frame_bytes(), frames);
    GpuLocalizer localizer(gpu.context(), detect_module(gpu.context()), gpu.kernels(), job, frames);
    FoundSpots found(job);
    GpuTimes before;
    double upload_before_s = 0;
    double wall_s = 0;
    for (int k = 0; k <= repeats; ++k) {
        BlockResult result;
        const double seconds = seconds_of([&] {
            found.clear();
            const int n = upload.bring(frames, read);
            int fitted = 0;
            localizer.localize(upload.counts(), block.type, 0, n, fitted, found, result);
        });
        if (k == 0)  // leaves out the first block, which allocates memory
            before = localizer.times(), upload_before_s = upload.seconds();
        else
            wall_s += seconds;
    }
    const GpuTimes& times = localizer.times();
    const double all = double(frames) * repeats;
    const auto rate = [&](double seconds) { return all / std::max(1e-9, seconds); };
    return {{"GPU: upload", rate(upload.seconds() - upload_before_s), "one stream"},
            {"GPU: find spots", rate(times.detect - before.detect), "one stream"},
            {"GPU: fit", rate(times.fit - before.fit), "one stream"},
            {"GPU: all of these, and back", rate(wall_s), "one stream"}};
}

}  // namespace glint::cli
