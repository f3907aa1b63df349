// Localizes blocks of frames in parallel: on GPUs while any are available, else on the CPU.
// SPDX-License-Identifier: MIT
#include "pipeline/run_blocks.hpp"

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "fit/fit_info.hpp"
#include "fit/on_gpus.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "offload/advisor.hpp"
#include "pipeline/block_plan.hpp"
#include "pipeline/blocks_in_order.hpp"
#include "pipeline/cpu_localizer.hpp"
#include "pipeline/movie_on_gpus.hpp"
#include "pipeline/movie_service.hpp"
#include "pipeline/place_movie.hpp"

namespace glint {
namespace {

BlockPlan plan_of(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames) {
    const std::size_t frame_bytes = movie.frame_bytes();
    return plan_blocks(frame_bytes, frames, job.threads, job.options.memory_bytes);
}

/// Memory into which one thread reads. It stays in the core's cache during the localization; memory shared between
/// blocks would not.
struct ThreadScratch {
    explicit ThreadScratch(const LocalizeJob& job) : localizer(job) {}
    CpuLocalizer localizer;
    FrameBlock frames;
};

void localize_on_cpu(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames, BlocksInOrder& blocks,
                     FitInfo& info) {
    const BlockPlan plan = plan_of(movie, job, frames);
    tbb::enumerable_thread_specific<ThreadScratch> threads([&] { return ThreadScratch(job); });
    const auto localize_block = [&](BlockInFlight& block) {
        auto& [localizer, to] = threads.local();
        to.first_frame = block.first, to.width = movie.width, to.height = movie.height, to.type = movie.type;
        to.bytes.resize(to.frame_bytes() * std::size_t(block.count));
        blocks.read(block, to.bytes.data());
        to.count = block.count;
        try {
            block.result = localizer.localize(to);
        } catch (const Cancelled&) {
            block.give_up();
        }
    };
    blocks.run(plan.frames, std::vector<BlockInFlight>(std::size_t(plan.blocks)), localize_block);
    for (const ThreadScratch& thread : threads) add(info, thread.localizer.fit_info());
}

/// Closes the GPUs on another thread. This takes 0.05 s, in which rows can be written.
std::future<void> closed_meanwhile(std::unique_ptr<offload::DevicePool> pool) try {
    return std::async(std::launch::async, [closing = std::move(pool)]() mutable { closing.reset(); });
} catch (const std::system_error&) {
    return {};  // no thread could be started; the GPUs are already closed
}

/// Returns false if the CPU must localize the remaining frames.
bool localize_on_gpus(Movie& movie, const LocalizeJob& job, std::int64_t frames, BlocksInOrder& blocks,
                      BlocksDone& ended) try {
    FitInfo& info = ended.fit;
    const LocalizeOptions& options = job.options;
    offload::Advisor advisor;
    const std::unique_ptr<MovieService> service = make_movie_service(movie.info(), job, frames, blocks);
    const std::optional<offload::Decision> decision = place_movie(movie, job, frames, advisor, *service, info);
    if (decision && decision->choice == Backend::cpu && decision->basis != offload::Basis::forced) {
        info.note = info.decision;
        return false;
    }
    if (service->run(info)) return true;
    auto pool = std::make_unique<offload::DevicePool>();
    offload::DeviceRequest request = device_request(options, options);
    request.max = max_gpus(*pool, options.gpus);
    MovieOnGpus on_gpus(movie.info(), job, frames, request.max, blocks);
    request.threads = on_gpus.useful_gpus();
    request.open_without_work = frames == 0;  // Backend::gpu reports a missing GPU even if there are no frames
    if (decision && decision->choice == Backend::gpu && decision->basis != offload::Basis::rules)
        request.worth_waiting_s = worth_waiting_s(*decision, decision->gpu.total());
    request.expected_s = advisor.expected_gpu_s(movie_work(movie.info(), job, frames));
    if (decision)
        request.on_opened = [&](const offload::Device& device, double seconds) {
            advisor.opened(device.uuid, seconds, device.context());
        };
    const auto localize = [&](GpuFitter& gpu, FitInfo& part, bool& useful, const std::function<bool()>& gives_way) {
        on_gpus.run_on(gpu, part, useful, gives_way);
    };
    info.fits = expected_frames(frames);  // the total that note_why_cpu() reports
    const bool done = run_on_gpus(*pool, std::move(request), on_gpus.workload(), options, localize, info).finished;
    if (!done) note_why_cpu(*pool, blocks.finished(), info);
    if (decision && done && info.retries == 0 && info.gpus.size() == 1 && blocks.finished() == frames)
        advisor.learn(decision->work, Backend::gpu, info.gpus.front().seconds);
    if (!info.gpus.empty()) ended.gpus_closed = closed_meanwhile(std::move(pool));
    return done;
} catch (const Cancelled&) {
    return true;  // stopped while waiting for a GPU: no work remains for the CPU
}

}  // namespace

std::int64_t frames_at_once(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames) {
    return plan_of(movie, job, frames).frames * std::int64_t(job.threads);
}

BlocksDone run_blocks(Movie& movie, const LocalizeJob& job, std::int64_t frames, const NextFrames& next,
                      const std::function<void(BlockResult)>& sink) {
    BlocksDone done;
    std::int64_t spots = 0;
    const std::function<void(BlockResult)> counted = [&](BlockResult block) {
        spots += block.counts.spots;
        add_known_light(job, block.rows);
        move_to_whole_frames(job, block.rows);
        sink(std::move(block));
    };
    BlocksInOrder blocks(movie, job, next, counted);
    const bool by_gpu =
        environment::backend(job.options.backend) != Backend::cpu && localize_on_gpus(movie, job, frames, blocks, done);
    if (!by_gpu && !blocks.ended()) {
        const bool all = blocks.finished() == 0;
        const Clock::time_point began = Clock::now();
        localize_on_cpu(movie.info(), job, frames - blocks.finished(), blocks, done.fit);
        if (all && blocks.finished() == frames && !done.fit.decision.empty())
            offload::Advisor().learn(movie_work(movie.info(), job, frames), Backend::cpu, seconds_since(began));
    }
    done.fit.fits = spots;
    done.fit.threads = job.threads;
    done.read_error = blocks.read_error();
    return done;
}

}  // namespace glint
