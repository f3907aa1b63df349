// The frames of a job on one GPU.
//
// A thread takes a block from its file to its rows: it reads the block into pinned memory, has one of a few GpuWorkers do
// its part, and refits and selects. With more threads than workers, and several workers, reading, uploads, kernels and
// the CPU's part of different blocks overlap.
// SPDX-License-Identifier: MIT
#include "pipeline/movie_on_gpu.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>

#include "pipeline/block_plan.hpp"
#include "pipeline/gpu_worker.hpp"
#include "pipeline/pool.hpp"

namespace glint {
namespace {

constexpr std::size_t most_workers = 4;  // streams: one uploads, one computes, one downloads, one begins

struct PinnedBlock : Block {
    gpu::Pinned<std::byte> counts;
};

/// What a thread has for the CPU's part.
struct Hands {
    explicit Hands(const Job& job) { found.rois = make_rois(job.camera, job.options.roi_size); }
    Fitter fitter;
    FoundSpots found;
};

/// Shares the GPU's memory with others now and then, once the workers have what they need.
class LeaseKeeper {
  public:
    LeaseKeeper(GpuFitter& gpu, std::size_t workers) : gpu_(gpu), blocks_until_(2 * workers) {}
    void look() {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock) return;  // somebody is at it
        if (blocks_until_ > 0) --blocks_until_;
        const auto now = std::chrono::steady_clock::now();
        if (blocks_until_ > 0 || now - looked_ < std::chrono::milliseconds(100)) return;
        looked_ = now;
        gpu_.share();
    }

  private:
    GpuFitter& gpu_;
    std::mutex mutex_;
    std::size_t blocks_until_;
    std::chrono::steady_clock::time_point looked_{};
};

void add_workers(Pool<GpuWorker>& pool, GpuFitter& gpu, const MovieInfo& movie, const Job& job, int block_frames) {
    const std::size_t limit = gpu.context().statistics().limit_bytes, frame = gpu_bytes_of_frame(movie, job);
    const std::size_t workers = std::clamp<std::size_t>(limit / frame, 1, most_workers);
    const std::size_t frames = std::clamp<std::size_t>(limit / workers / frame, 1, std::size_t(block_frames));
    const gpu::Module detect = detect_module(gpu.context());
    for (std::size_t k = 0; k < workers; ++k)
        pool.add(std::make_unique<GpuWorker>(gpu.context(), detect, gpu.kernels(), job, int(frames)));
}

void sum_up(const Pool<GpuWorker>& pool, FitInfo& info) {
    for (const auto& worker : pool.all()) {
        const GpuTimes& times = worker->times();
        info.bytes_up += times.bytes_up, info.bytes_down += times.bytes_down;
        info.transfer_seconds += times.upload, info.kernel_seconds += times.detect + times.fit;
    }
}

}  // namespace

void localize_on_gpu(GpuFitter& gpu, const MovieInfo& movie, const Job& job, std::int64_t frames, BlocksInOrder& blocks,
                     FitInfo& info) {
    const std::size_t frame_bytes = std::size_t(movie.width) * movie.height * bytes_of(movie.type);
    const BlockPlan plan = plan_gpu_blocks(frame_bytes, frames, job.threads, job.options.memory_bytes);
    info.backend = "gpu", info.device = gpu.context().name();
    std::vector<PinnedBlock> items;
    for (int k = 0; k < plan.blocks; ++k) {
        items.emplace_back();
        items.back().counts = gpu::Pinned<std::byte>(gpu.context(), frame_bytes * std::size_t(plan.frames));
    }
    Pool<GpuWorker> workers;  // goes before the pinned blocks, which it may still read
    add_workers(workers, gpu, movie, job, plan.frames);
    tbb::enumerable_thread_specific<Hands> hands([&] { return Hands(job); });
    LeaseKeeper keeper(gpu, workers.all().size());
    const auto localize_block = [&](PinnedBlock& block) {
        Hands& mine = hands.local();
        blocks.read(block, block.counts.data());
        if (block.count == 0) return;
        workers.with_one([&](GpuWorker& worker) {
            worker.localize(block.counts.data(), movie.type, block.first, block.count, mine.found, block.result);
        });
        keeper.look();
        add_rows(job, mine.fitter, mine.found, block.result);
    };
    try {
        blocks.run(plan.frames, std::move(items), localize_block);
    } catch (...) {
        sum_up(workers, info);
        throw;
    }
    sum_up(workers, info);
}

}  // namespace glint
