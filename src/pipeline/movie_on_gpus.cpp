// Localizes the frames of a job on GPUs that may join and leave.
//
// A thread takes a block from file to rows: it reads the block into pinned memory, has one of a few GpuWorkers do the
// GPU's part, and refits and selects. With more threads than workers, and several workers, reading, uploads, kernels
// and the CPU's part of different blocks overlap. If no thread runs this pipeline, that of a new GPU does. A GPU that
// fails is withdrawn with all its workers; the block that failed goes to another worker.
// SPDX-License-Identifier: MIT
#include "pipeline/movie_on_gpus.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "glint/error.hpp"
#include "pipeline/block_plan.hpp"
#include "pipeline/gpu_worker.hpp"

namespace glint {
namespace {

constexpr std::size_t most_workers = 4;      // streams: one each uploads, computes, downloads, starts
constexpr std::int64_t worth_a_gpu = 128;    // blocks for each GPU: about 0.1 s; opening one takes 0.2 s
constexpr std::int64_t most_gpus = 1 << 10;  // per process

struct PinnedBlock : Block {
    gpu::Pinned<std::byte> counts;
};

/// What a thread needs for the CPU's part.
struct ThreadState {
    explicit ThreadState(const Job& job) : found(job) {}
    Fitter fitter;
    FoundSpots found;
};

/// Calls GpuFitter::share() at most every 100 ms, once the workers have allocated what they need (two blocks each).
class LeaseKeeper {
  public:
    LeaseKeeper(GpuFitter& gpu, std::size_t workers) : gpu_(gpu), blocks_until_(2 * workers) {}
    void look() {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock) return;  // another thread is doing this
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

std::vector<std::unique_ptr<GpuWorker>> workers_of(GpuFitter& gpu, const MovieInfo& movie, const Job& job,
                                                   int block_frames) {
    const std::size_t limit = gpu.context().statistics().limit_bytes, frame = gpu_bytes_of_frame(movie, job);
    const std::size_t count = std::clamp<std::size_t>(limit / frame, 1, most_workers);
    const std::size_t frames = std::clamp<std::size_t>(limit / count / frame, 1, std::size_t(block_frames));
    const gpu::Module detect = detect_module(gpu.context());
    std::vector<std::unique_ptr<GpuWorker>> workers;
    for (std::size_t k = 0; k < count; ++k)
        workers.push_back(std::make_unique<GpuWorker>(gpu.context(), detect, gpu.kernels(), job, int(frames)));
    return workers;
}

}  // namespace

/// A GPU during its run_on() call.
struct MovieOnGpus::GpuInUse {
    GpuInUse(GpuFitter& of, const MovieInfo& movie, const Job& job, int block_frames,
             const std::function<bool()>& gives_way_now)
        : fitter(of),
          gives_way(gives_way_now),
          workers(workers_of(of, movie, job, block_frames)),
          keeper(of, workers.size()) {}

    GpuFitter& fitter;
    const std::function<bool()>& gives_way;
    std::vector<std::unique_ptr<GpuWorker>> workers;
    LeaseKeeper keeper;
    std::size_t busy = 0;        // workers that a thread has borrowed; State::mutex_ guards it and the next two
    std::int64_t fits = 0;       // of the blocks that succeeded
    std::exception_ptr failure;  // if set, its workers are not lent any more
    bool gave_way = false;       // and that is the failure
};

/// Ends the pipeline where the last GPU gave way.
struct GaveWay : gpu::GpuError {
    GaveWay() : GpuError(0, "the GPU was given back to others") {}
};

struct MovieOnGpus::State final : offload::Workload {
    State(const MovieInfo& of, const Job& wanted, std::int64_t frames, BlocksInOrder& in_order)
        : movie(of),
          job(wanted),
          blocks(in_order),
          plan(plan_gpu_blocks(frame_bytes(), frames, wanted.threads, wanted.options.memory_bytes)),
          useful_gpus(int(std::clamp<std::int64_t>(frames / (worth_a_gpu * plan.frames), 1, most_gpus))) {}
    std::size_t frame_bytes() const { return std::size_t(movie.width) * movie.height * bytes_of(movie.type); }

    const MovieInfo& movie;
    const Job& job;
    BlocksInOrder& blocks;
    const BlockPlan plan;
    const int useful_gpus;

    struct Borrowed {
        GpuInUse* gpu;
        GpuWorker* worker;
    };
    using Workload::changed_, Workload::mutex_;  // for run_on()
    // Guarded by mutex_:
    std::deque<Borrowed> idle;  // first in, first out, so that all GPUs are used equally
    std::vector<GpuInUse*> gpus;
    std::exception_ptr last_failure;
    bool ended = false;
    GpuInUse* runner = nullptr;  // whose thread runs the pipeline, with page-locked memory of its context

    bool all_done() const override { return ended; }
    bool some_to_do() const override { return true; }  // more GPUs may join until the end
    void add(GpuInUse& gpu);
    void withdraw(GpuInUse& gpu);  // with mutex_ held
    Borrowed borrow();
    bool runner_leaves() const { return runner && runner->gave_way; }
    void put_back(const Borrowed& borrowed);  // with mutex_ held
    void succeeded(const Borrowed& borrowed, std::int64_t fits);
    void failed(const Borrowed& borrowed, std::exception_ptr failure);
    void fail(GpuInUse& gpu, std::exception_ptr failure);  // with mutex_ held
    void run_with(GpuInUse& gpu, std::unique_lock<std::mutex>& lock);
    void run(const gpu::Context& context);
    void localize(PinnedBlock& block, FoundSpots& found);
};

void MovieOnGpus::State::add(GpuInUse& gpu) {
    const std::lock_guard lock(mutex_);
    gpus.push_back(&gpu);
    for (const auto& worker : gpu.workers) idle.push_back({&gpu, worker.get()});
    changed_.notify_all();
}

void MovieOnGpus::State::withdraw(GpuInUse& gpu) {
    std::erase(gpus, &gpu);
    std::erase_if(idle, [&](const Borrowed& worker) { return worker.gpu == &gpu; });
    changed_.notify_all();
}

/// Waits for an idle worker; where no GPU is left, rethrows the failure of the last one. Where the GPU of the pipeline
/// leaves, the pipeline ends, so that it can, and another one goes on.
MovieOnGpus::State::Borrowed MovieOnGpus::State::borrow() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !idle.empty() || gpus.empty() || runner_leaves(); });
    if (runner_leaves()) throw GaveWay();
    if (idle.empty()) std::rethrow_exception(last_failure);
    const Borrowed borrowed = idle.front();
    idle.pop_front();
    ++borrowed.gpu->busy;
    return borrowed;
}

void MovieOnGpus::State::put_back(const Borrowed& borrowed) {
    --borrowed.gpu->busy;
    if (!borrowed.gpu->failure) idle.push_back(borrowed);
    changed_.notify_all();
}

void MovieOnGpus::State::succeeded(const Borrowed& borrowed, std::int64_t fits) {
    const std::lock_guard lock(mutex_);
    borrowed.gpu->fits += fits;
    progressed_ = std::chrono::steady_clock::now();
    if (!borrowed.gpu->failure && borrowed.gpu->gives_way()) {
        borrowed.gpu->gave_way = true;
        fail(*borrowed.gpu, std::make_exception_ptr(GaveWay()));
    }
    put_back(borrowed);
}

void MovieOnGpus::State::failed(const Borrowed& borrowed, std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    fail(*borrowed.gpu, failure);
    put_back(borrowed);
}

void MovieOnGpus::State::fail(GpuInUse& gpu, std::exception_ptr failure) {
    if (gpu.failure) return;
    gpu.failure = last_failure = failure;
    withdraw(gpu);
}

/// The GPU's part of a block. After a GPU error another worker repeats it; borrow() throws when no GPU is left.
void MovieOnGpus::State::localize(PinnedBlock& block, FoundSpots& found) {
    for (bool done = false; !done;) {
        const Borrowed borrowed = borrow();
        block.result = {};
        block.result.first_frame = block.first;
        try {
            borrowed.worker->localize(block.counts.data(), movie.type, block.first, block.count, found, block.result);
            borrowed.gpu->keeper.look();
            succeeded(borrowed, std::int64_t(found.fits.count()));
            done = true;
        } catch (const gpu::GpuError&) {
            failed(borrowed, std::current_exception());
        } catch (...) {
            const std::lock_guard lock(mutex_);
            put_back(borrowed);
            throw;
        }
    }
}

void MovieOnGpus::State::run(const gpu::Context& context) {
    std::vector<PinnedBlock> items;
    for (int k = 0; k < plan.blocks; ++k) {
        items.emplace_back();
        items.back().counts = gpu::Pinned<std::byte>(context, frame_bytes() * std::size_t(plan.frames));
    }
    tbb::enumerable_thread_specific<ThreadState> threads([&] { return ThreadState(job); });
    blocks.run(plan.frames, std::move(items), [&](PinnedBlock& block) {
        ThreadState& mine = threads.local();
        blocks.read(block, block.counts.data());
        if (block.count == 0) return;
        localize(block, mine.found);
        try {
            add_rows(job, mine.fitter, mine.found, block.result);
        } catch (const Cancelled&) {
            block.give_up();
        }
    });
}

/// Runs the pipeline, unlocked, until all is done or no GPU is left; other errors end the job, and are thrown.
void MovieOnGpus::State::run_with(GpuInUse& gpu, std::unique_lock<std::mutex>& lock) {
    runner = &gpu;
    lock.unlock();
    const auto stop = [&](bool at_end) {
        lock.lock();
        runner = nullptr, ended = at_end;
        changed_.notify_all();
    };
    try {
        run(gpu.fitter.context());
    } catch (const gpu::GpuError&) {
        stop(false);
        fail(gpu, std::current_exception());  // unless a worker did: it was before any was borrowed
        return;
    } catch (...) {
        stop(true);
        throw;
    }
    stop(true);
}

MovieOnGpus::MovieOnGpus(const MovieInfo& movie, const Job& job, std::int64_t frames, BlocksInOrder& blocks)
    : state_(std::make_unique<State>(movie, job, frames, blocks)) {}
MovieOnGpus::~MovieOnGpus() = default;

int MovieOnGpus::useful_gpus() const { return state_->useful_gpus; }

offload::Workload& MovieOnGpus::workload() { return *state_; }

void MovieOnGpus::run_on(GpuFitter& fitter, FitInfo& part, bool& useful, const std::function<bool()>& gives_way) {
    State& state = *state_;
    part.backend = "gpu", part.device = fitter.context().name();
    GpuInUse gpu(fitter, state.movie, state.job, state.plan.frames, gives_way);
    state.add(gpu);
    const auto leave = [&](std::unique_lock<std::mutex>& lock) {
        state.withdraw(gpu);
        state.changed_.wait(lock, [&] { return gpu.busy == 0; });
        for (const auto& worker : gpu.workers) {
            const GpuTimes& times = worker->times();
            part.bytes_up += times.bytes_up, part.bytes_down += times.bytes_down;
            part.transfer_seconds += times.upload, part.kernel_seconds += times.detect + times.fit;
        }
        part.fits = gpu.fits, useful = gpu.fits > 0;
    };
    std::unique_lock lock(state.mutex_);
    try {
        while (!state.ended && !gpu.failure)
            if (state.runner)
                state.changed_.wait(lock);
            else
                state.run_with(gpu, lock);
    } catch (...) {
        leave(lock);
        throw;
    }
    leave(lock);
    if (gpu.failure && !gpu.gave_way && !state.ended) std::rethrow_exception(gpu.failure);
}

}  // namespace glint
