// Localizes the frames of a job on GPUs that may join and leave.
//
// A thread takes a block from file to rows: it reads the block into pinned memory, has one of a few GpuWorkers do the
// GPU's part, has a JointOnGpu fit groups, and selects. With more threads than workers, and several workers, reading, uploads, kernels
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

#include "fit/cuda/joint_on_gpu.hpp"
#include "glint/error.hpp"
#include "pipeline/block_plan.hpp"
#include "pipeline/gpu_shares.hpp"
#include "pipeline/gpu_worker.hpp"

namespace glint {
namespace {

constexpr std::int64_t blocks_worth_a_gpu = 128;          // blocks for each GPU: about 0.1 s; opening one takes 0.2 s
constexpr std::int64_t most_gpus_of_a_process = 1 << 10;  // per process

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
    const FramesOnGpu share = frames_on_gpu(gpu.context(), movie, job);
    const int frames = std::min(share.frames, block_frames);
    const gpu::Module detect = detect_module(gpu.context());
    std::vector<std::unique_ptr<GpuWorker>> workers;
    for (std::size_t k = 0; k < share.workers; ++k)
        workers.push_back(std::make_unique<GpuWorker>(gpu.context(), detect, gpu.kernels(), job, frames));
    return workers;
}

/// As many as threads that may ask for one.
std::vector<std::unique_ptr<JointOnGpu>> finders_of(GpuFitter& gpu, const Job& job) {
    std::vector<std::unique_ptr<JointOnGpu>> finders;
    if (job.options.emitters != any_emitters) return finders;
    const GroupsOnGpu share = groups_on_gpu(gpu.context(), std::size_t(job.threads));
    for (std::size_t k = 0; k < share.finders; ++k)
        finders.push_back(std::make_unique<JointOnGpu>(gpu.context(), gpu.kernels(), job.options.psf, job.pixel_size_um,
                                                       joint_options(job), share.bytes));
    return finders;
}

}  // namespace

/// A GPU during its run_on() call.
struct MovieOnGpus::GpuInUse {
    GpuInUse(GpuFitter& of, const MovieInfo& movie, const Job& job, int block_frames,
             const std::function<bool()>& gives_way_now)
        : fitter(of),
          gives_way(gives_way_now),
          workers(workers_of(of, movie, job, block_frames)),
          finders(finders_of(of, job)),
          keeper(of, workers.size()) {}

    GpuFitter& fitter;
    const std::function<bool()>& gives_way;
    std::vector<std::unique_ptr<GpuWorker>> workers;
    std::vector<std::unique_ptr<JointOnGpu>> finders;
    LeaseKeeper keeper;
    std::size_t busy = 0;            // of these that a thread has borrowed; State::mutex_ guards it and the rest
    std::size_t done = 0;            // how often one was put back
    std::size_t without_memory = 0;  // of the borrowed ones, who waits for others
    std::int64_t fits = 0;           // of the blocks that succeeded
    std::exception_ptr failure;      // if set, its workers are not lent any more
    bool gave_way = false;           // and that is the failure
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
          useful_gpus(
              int(std::clamp<std::int64_t>(frames / (blocks_worth_a_gpu * plan.frames), 1, most_gpus_of_a_process))) {}
    std::size_t frame_bytes() const { return std::size_t(movie.width) * movie.height * bytes_of(movie.type); }

    const MovieInfo& movie;
    const Job& job;
    BlocksInOrder& blocks;
    const BlockPlan plan;
    const int useful_gpus;

    template <class Worker>
    struct Borrowed {
        GpuInUse* gpu;
        Worker* worker;
    };
    /// First in, first out, so that all GPUs are used equally.
    template <class Worker>
    using Idle = std::deque<Borrowed<Worker>>;
    using Workload::changed_, Workload::mutex_;  // for run_on()
    // Guarded by mutex_:
    Idle<GpuWorker> idle;
    Idle<JointOnGpu> idle_finders;
    std::vector<GpuInUse*> gpus;
    std::exception_ptr last_failure;
    bool ended = false;
    GpuInUse* runner = nullptr;  // whose thread runs the pipeline, with page-locked memory of its context

    bool all_done() const override { return ended; }
    bool some_to_do() const override { return true; }  // more GPUs may join until the end
    void add(GpuInUse& gpu);
    void withdraw(GpuInUse& gpu);  // with mutex_ held
    template <class Worker>
    Borrowed<Worker> borrow(Idle<Worker>& from);
    bool runner_leaves() const { return runner && runner->gave_way; }
    template <class Worker>
    void put_back(const Borrowed<Worker>& borrowed, Idle<Worker>& to);  // with mutex_ held
    void succeeded(GpuInUse& gpu, std::int64_t fits);                   // with mutex_ held
    void fail(GpuInUse& gpu, std::exception_ptr failure);               // with mutex_ held
    void run_with(GpuInUse& gpu, std::unique_lock<std::mutex>& lock);
    void run(const gpu::Context& context);
    template <class Worker, class Work>
    void on_one_of(Idle<Worker>& workers, const Work& work);
    void localize(PinnedBlock& block, FoundSpots& found);
};

void MovieOnGpus::State::add(GpuInUse& gpu) {
    const std::lock_guard lock(mutex_);
    gpus.push_back(&gpu);
    for (const auto& worker : gpu.workers) idle.push_back({&gpu, worker.get()});
    for (const auto& finder : gpu.finders) idle_finders.push_back({&gpu, finder.get()});
    changed_.notify_all();
}

void MovieOnGpus::State::withdraw(GpuInUse& gpu) {
    std::erase(gpus, &gpu);
    const auto is_of = [&](const auto& worker) { return worker.gpu == &gpu; };
    std::erase_if(idle, is_of), std::erase_if(idle_finders, is_of);
    changed_.notify_all();
}

/// Waits for an idle worker; where no GPU is left, rethrows the failure of the last one. Where the GPU of the pipeline
/// leaves, the pipeline ends, so that it can, and another one goes on.
template <class Worker>
MovieOnGpus::State::Borrowed<Worker> MovieOnGpus::State::borrow(Idle<Worker>& from) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !from.empty() || gpus.empty() || runner_leaves(); });
    if (runner_leaves()) throw GaveWay();
    if (from.empty()) std::rethrow_exception(last_failure);
    const Borrowed<Worker> borrowed = from.front();
    from.pop_front();
    ++borrowed.gpu->busy;
    return borrowed;
}

template <class Worker>
void MovieOnGpus::State::put_back(const Borrowed<Worker>& borrowed, Idle<Worker>& to) {
    --borrowed.gpu->busy, ++borrowed.gpu->done;
    if (!borrowed.gpu->failure) to.push_back(borrowed);
    changed_.notify_all();
}

void MovieOnGpus::State::succeeded(GpuInUse& gpu, std::int64_t fits) {
    gpu.fits += fits;
    progressed_ = std::chrono::steady_clock::now();
    if (gpu.failure || !gpu.gives_way()) return;
    gpu.gave_way = true;
    fail(gpu, std::make_exception_ptr(GaveWay()));
}

void MovieOnGpus::State::fail(GpuInUse& gpu, std::exception_ptr failure) {
    if (gpu.failure) return;
    gpu.failure = last_failure = failure;
    withdraw(gpu);
}

/// Has one of them do work(worker), which returns the number of fits. After a GPU error another repeats it; borrow() throws
/// when no GPU is left. Without memory it is tried again when another has done its part, and where all others wait for
/// memory, once more after the finders have freed theirs.
template <class Worker, class Work>
void MovieOnGpus::State::on_one_of(Idle<Worker>& workers, const Work& work) {
    for (bool done = false, freed = false; !done;) {
        const Borrowed<Worker> borrowed = borrow(workers);
        try {
            const std::int64_t fits = work(*borrowed.worker);
            borrowed.gpu->keeper.look();
            const std::lock_guard lock(mutex_);
            succeeded(*borrowed.gpu, fits);
            put_back(borrowed, workers);
            done = true;
        } catch (const gpu::OutOfMemory&) {
            std::unique_lock lock(mutex_);
            GpuInUse& gpu = *borrowed.gpu;
            if (gpu.busy > gpu.without_memory + 1) {
                const std::size_t so_far = gpu.done;
                ++gpu.without_memory;
                changed_.wait(lock, [&] { return gpu.done != so_far || gpu.failure || runner_leaves(); });
                --gpu.without_memory;
            } else if (!freed) {
                for (const Borrowed<JointOnGpu>& finder : idle_finders)
                    if (finder.gpu == &gpu) finder.worker->free();
                freed = true;
            } else {
                fail(gpu, std::current_exception());
            }
            put_back(borrowed, workers);
        } catch (const gpu::GpuError&) {
            const std::lock_guard lock(mutex_);
            fail(*borrowed.gpu, std::current_exception());
            put_back(borrowed, workers);
        } catch (...) {
            const std::lock_guard lock(mutex_);
            put_back(borrowed, workers);
            throw;
        }
    }
}

/// The GPU's part of a block, up to the fits of single molecules.
void MovieOnGpus::State::localize(PinnedBlock& block, FoundSpots& found) {
    on_one_of(idle, [&](GpuWorker& worker) {
        block.result = {};
        block.result.first_frame = block.first;
        worker.localize(block.counts.data(), movie.type, block.first, block.count, found, block.result);
        return std::int64_t(found.fits.count());
    });
}

void MovieOnGpus::State::run(const gpu::Context& context) {
    std::vector<PinnedBlock> items(std::size_t(plan.blocks));
    tbb::enumerable_thread_specific<ThreadState> threads([&] { return ThreadState(job); });
    const auto find_groups = [&](std::span<const JointCut> groups) {
        on_one_of(idle_finders, [&](JointOnGpu& finder) {
            finder.find(groups);
            return std::int64_t(0);  // the spots are counted
        });
    };
    blocks.run(plan.frames, std::move(items), [&](PinnedBlock& block) {
        ThreadState& mine = threads.local();
        if (!block.counts.data())  // by each thread for itself, beside those that read already
            block.counts = gpu::Pinned<std::byte>(context, frame_bytes() * std::size_t(plan.frames));
        blocks.read(block, block.counts.data());
        if (block.count == 0) return;
        localize(block, mine.found);
        try {
            add_rows(job, mine.fitter, mine.found, block.result, find_groups);
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
        for (const auto& finder : gpu.finders) {
            part.bytes_up += finder->bytes_up(), part.bytes_down += finder->bytes_down();
            part.kernel_seconds += finder->seconds();
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
