// Localizes the frames of a job on GPUs that may join and leave.
//
// A thread takes a block from file to rows: it reads the block by way of a FrameUpload, has one of a few GpuWorkers of that GPU find
// and fit spots, has a JointOnGpu fit groups, and selects. With more threads than workers, and several workers, reading, uploads,
// kernels and the CPU's part of different blocks overlap. If no thread runs this pipeline, that of a new GPU does. A GPU that
// fails is withdrawn with all that belongs to it; the block that failed is read again, for another GPU.
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
#include "pipeline/frame_upload.hpp"
#include "pipeline/gpu_shares.hpp"
#include "pipeline/gpu_worker.hpp"
#include "pipeline/zero_border.hpp"

namespace glint {
namespace {

constexpr std::int64_t blocks_worth_a_gpu = 128;  // blocks for each GPU: about 0.1 s; opening one takes 0.2 s

/// What a thread needs for the CPU's part.
struct ThreadState {
    explicit ThreadState(const Job& job) : found(job) {}
    Fitter fitter;
    FoundSpots found;
};

/// Calls GpuFitter::share() at most every 100 ms, once all have allocated what they need (two pieces of work each).
class LeaseKeeper {
  public:
    LeaseKeeper(GpuFitter& gpu, std::size_t borrowed) : gpu_(gpu), works_until_(2 * borrowed) {}
    void look() {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock) return;  // another thread is doing this
        if (works_until_ > 0) --works_until_;
        const auto now = std::chrono::steady_clock::now();
        if (works_until_ > 0 || now - looked_ < std::chrono::milliseconds(100)) return;
        looked_ = now;
        gpu_.share();
    }

  private:
    GpuFitter& gpu_;
    std::mutex mutex_;
    std::size_t works_until_;
    std::chrono::steady_clock::time_point looked_{};
};

/// Blocks that the memory of a GPU has room for as a whole.
BlockPlan plan_of(const MovieInfo& movie, const Job& job, std::int64_t frames) {
    BlockPlan plan = plan_uploaded_blocks(movie.frame_bytes(), frames, job.threads, job.options.memory_bytes);
    const std::size_t uploads = most_uploads(movie, job, frames, plan.frames, 1);
    if (const std::uint64_t memory = job.options.gpu_memory_bytes; memory > 0)  // 0: all there is
        plan.frames = frames_on_gpu(memory, movie, job, plan.frames, uploads).frames;
    return plan;
}

std::vector<std::unique_ptr<FrameUpload>> uploads_of(GpuFitter& gpu, const MovieInfo& movie, const FramesOnGpu& share) {
    std::vector<std::unique_ptr<FrameUpload>> uploads;
    for (std::size_t k = 0; k < share.uploads; ++k)
        uploads.push_back(std::make_unique<FrameUpload>(gpu.context(), movie.frame_bytes(), share.frames));
    return uploads;
}

std::vector<std::unique_ptr<GpuWorker>> workers_of(GpuFitter& gpu, const Job& job, const FramesOnGpu& share) {
    const gpu::Module detect = detect_module(gpu.context());
    std::vector<std::unique_ptr<GpuWorker>> workers;
    for (std::size_t k = 0; k < share.workers; ++k)
        workers.push_back(std::make_unique<GpuWorker>(gpu.context(), detect, gpu.kernels(), job, share.frames));
    return workers;
}

/// As many as threads that may ask for one.
std::vector<std::unique_ptr<JointOnGpu>> finders_of(GpuFitter& gpu, const Job& job) {
    std::vector<std::unique_ptr<JointOnGpu>> finders;
    if (job.options.fit.emitters != any_emitters) return finders;
    const GroupsOnGpu share = groups_on_gpu(gpu.context(), std::size_t(job.threads));
    for (std::size_t k = 0; k < share.finders; ++k)
        finders.push_back(std::make_unique<JointOnGpu>(gpu.context(), gpu.kernels(), job.options.psf,
                                                       job.options.pixel_size_nm, joint_options(job), share.bytes));
    return finders;
}

}  // namespace

/// A GPU during its run_on() call.
struct MovieOnGpus::GpuInUse {
    GpuInUse(GpuFitter& of, const MovieInfo& movie, const Job& job, int block_frames, std::size_t uploads_at_once,
             const std::function<bool()>& gives_way_now)
        : fitter(of),
          gives_way(gives_way_now),
          share(frames_on_gpu(of.context().statistics().limit_bytes, movie, job, block_frames, uploads_at_once)),
          uploads(uploads_of(of, movie, share)),
          workers(workers_of(of, job, share)),
          finders(finders_of(of, job)),
          keeper(of, uploads.size() + workers.size() + finders.size()) {}

    GpuFitter& fitter;
    const std::function<bool()>& gives_way;
    const FramesOnGpu share;
    std::vector<std::unique_ptr<FrameUpload>> uploads;
    std::vector<std::unique_ptr<GpuWorker>> workers;
    std::vector<std::unique_ptr<JointOnGpu>> finders;
    LeaseKeeper keeper;
    std::size_t uploading = 0;       // uploads that a thread has borrowed; State::mutex_ guards it and the rest
    bool one_upload = false;         // is lent at once: with more, there was no memory for the rest
    std::size_t busy = 0;            // workers and finders that a thread has borrowed
    std::size_t done = 0;            // how often one of these was put back
    std::size_t without_memory = 0;  // of the borrowed ones, who waits for others
    std::int64_t fits = 0;           // of the blocks that succeeded
    std::exception_ptr failure;      // if set, its workers are not lent any more
    bool gave_way = false;           // and that is the failure
};

/// Ends the pipeline where its GPU gave way.
struct GaveWay : gpu::GpuError {
    GaveWay() : GpuError(0, "the GPU was given back to others") {}
};

struct MovieOnGpus::State final : offload::Workload {
    State(const MovieInfo& of, const Job& wanted, std::int64_t frames, int gpus_at_once, BlocksInOrder& in_order)
        : movie(of),
          job(wanted),
          blocks(in_order),
          plan(plan_of(of, wanted, frames)),
          useful_gpus(int(std::clamp<std::int64_t>(frames / (blocks_worth_a_gpu * plan.frames), 1, gpus_at_once))),
          uploads(most_uploads(of, wanted, frames, plan.frames, useful_gpus)) {}
    const MovieInfo& movie;
    const Job& job;
    BlocksInOrder& blocks;
    const BlockPlan plan;
    const int useful_gpus;
    const std::size_t uploads;  // of each GPU at most

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
    Idle<FrameUpload> idle_uploads;
    Idle<GpuWorker> idle_workers;
    Idle<JointOnGpu> idle_finders;
    std::vector<GpuInUse*> gpus;
    std::exception_ptr last_failure;
    bool ended = false;
    GpuInUse* runner = nullptr;  // whose thread runs the pipeline

    bool all_done() const override { return ended; }
    bool some_to_do() const override { return true; }  // more GPUs may join until the end
    void add(GpuInUse& gpu);
    void withdraw(GpuInUse& gpu);  // with mutex_ held
    template <class Worker>
    static std::size_t& lent(GpuInUse& gpu) {
        return std::is_same_v<Worker, FrameUpload> ? gpu.uploading : gpu.busy;
    }
    template <class Worker>
    Borrowed<Worker> borrow(Idle<Worker>& from, const GpuInUse* of);
    bool runner_leaves() const { return runner && runner->gave_way; }
    template <class Worker>
    void put_back(const Borrowed<Worker>& borrowed, Idle<Worker>& to);  // with mutex_ held
    void succeeded(GpuInUse& gpu, std::int64_t fits);                   // with mutex_ held
    void fail(GpuInUse& gpu, std::exception_ptr failure);               // with mutex_ held
    void run_with(GpuInUse& gpu, std::unique_lock<std::mutex>& lock);
    void run();
    template <class Worker, class Work>
    void on_one_of(Idle<Worker>& workers, const GpuInUse* of, const Work& work);
    template <class Worker>
    bool wait_for_memory(GpuInUse& gpu, std::unique_lock<std::mutex>& lock);
    void free_memory_of(GpuInUse& gpu);  // with mutex_ held
    int bring(GpuInUse& gpu, FrameUpload& upload, Block& block, int first);
    void localize(Block& block, FoundSpots& found);
};

void MovieOnGpus::State::add(GpuInUse& gpu) {
    const std::lock_guard lock(mutex_);
    gpus.push_back(&gpu);
    for (const auto& upload : gpu.uploads) idle_uploads.push_back({&gpu, upload.get()});
    for (const auto& worker : gpu.workers) idle_workers.push_back({&gpu, worker.get()});
    for (const auto& finder : gpu.finders) idle_finders.push_back({&gpu, finder.get()});
    changed_.notify_all();
}

void MovieOnGpus::State::withdraw(GpuInUse& gpu) {
    std::erase(gpus, &gpu);
    const auto is_of = [&](const auto& worker) { return worker.gpu == &gpu; };
    std::erase_if(idle_uploads, is_of), std::erase_if(idle_workers, is_of), std::erase_if(idle_finders, is_of);
    changed_.notify_all();
}

/// Waits for an idle one, of the GPU `of` or of any; where none is left, rethrows why. Where the GPU of the pipeline leaves,
/// the pipeline ends, so that it can, and another one goes on.
template <class Worker>
MovieOnGpus::State::Borrowed<Worker> MovieOnGpus::State::borrow(Idle<Worker>& from, const GpuInUse* of) {
    std::unique_lock lock(mutex_);
    const auto may_be_lent = [&](const Borrowed<Worker>& one) {
        if (std::is_same_v<Worker, FrameUpload> && one.gpu->one_upload && one.gpu->uploading > 0) return false;
        return !of || one.gpu == of;
    };
    const auto first = [&] { return std::find_if(from.begin(), from.end(), may_be_lent); };
    changed_.wait(
        lock, [&] { return first() != from.end() || runner_leaves() || (of ? of->failure != nullptr : gpus.empty()); });
    if (runner_leaves()) throw GaveWay();
    const auto found = first();
    if (found == from.end()) std::rethrow_exception(of ? of->failure : last_failure);
    const Borrowed<Worker> borrowed = *found;
    from.erase(found);
    ++lent<Worker>(*borrowed.gpu);
    return borrowed;
}

template <class Worker>
void MovieOnGpus::State::put_back(const Borrowed<Worker>& borrowed, Idle<Worker>& to) {
    --lent<Worker>(*borrowed.gpu);
    if (!std::is_same_v<Worker, FrameUpload>) ++borrowed.gpu->done;
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

/// For whoever has borrowed one. False: there is nobody to wait for.
template <class Worker>
bool MovieOnGpus::State::wait_for_memory(GpuInUse& gpu, std::unique_lock<std::mutex>& lock) {
    const std::size_t oneself = std::is_same_v<Worker, FrameUpload> ? 0 : 1;
    if (gpu.busy <= gpu.without_memory + oneself) return false;
    const std::size_t so_far = gpu.done;
    gpu.without_memory += oneself;
    changed_.wait(lock, [&] { return gpu.done != so_far || gpu.failure || runner_leaves(); });
    gpu.without_memory -= oneself;
    return true;
}

void MovieOnGpus::State::free_memory_of(GpuInUse& gpu) {
    const auto free = [&](const auto& idle) {
        for (const auto& one : idle)
            if (one.gpu == &gpu) one.worker->free();
    };
    free(idle_uploads), free(idle_workers), free(idle_finders);
}

/// Has one of them, of the GPU `of` or of any, do work(gpu, worker), which returns the number of fits. After a GPU error another
/// repeats it; borrow() throws when no GPU is left. Without memory it is tried again when another has done its part, and where
/// all others wait for memory, once more after those that are idle have freed theirs. Where that did not help, uploads are lent
/// one at a time, and who works on one gives it back first: gpu::OutOfMemory.
template <class Worker, class Work>
void MovieOnGpus::State::on_one_of(Idle<Worker>& workers, const GpuInUse* of, const Work& work) {
    for (bool done = false, freed = false, freed_alone = false; !done;) {
        const Borrowed<Worker> borrowed = borrow(workers, of);
        try {
            const std::int64_t fits = work(*borrowed.gpu, *borrowed.worker);
            borrowed.gpu->keeper.look();
            const std::lock_guard lock(mutex_);
            succeeded(*borrowed.gpu, fits);
            put_back(borrowed, workers);
            done = true;
        } catch (const gpu::OutOfMemory&) {
            std::unique_lock lock(mutex_);
            GpuInUse& gpu = *borrowed.gpu;
            const bool waited = wait_for_memory<Worker>(gpu, lock);
            const bool others_upload = !std::is_same_v<Worker, JointOnGpu> && gpu.uploading > 1 && !gpu.failure;
            if (!waited && freed_alone) fail(gpu, std::current_exception());
            put_back(borrowed, workers);
            if (waited) continue;
            const bool again = std::exchange(freed, true);
            if (again) gpu.one_upload = true;
            free_memory_of(gpu);
            freed_alone = again && !others_upload;  // nobody begins another upload from here on
            if (again && others_upload && of) throw;
        } catch (const GaveWay&) {  // by a borrow() within
            const std::lock_guard lock(mutex_);
            put_back(borrowed, workers);
            if (runner_leaves()) throw;
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

/// Frames from `first` on, as many as there is memory for. Not to a GPU that is to leave.
int MovieOnGpus::State::bring(GpuInUse& gpu, FrameUpload& upload, Block& block, int first) {
    return upload.bring(block.count - first, [&](int from, int count, std::byte* counts) {
        {
            const std::lock_guard lock(mutex_);
            if (gpu.failure) std::rethrow_exception(gpu.failure);
        }
        const int read = blocks.read(block, first + from, count, counts);
        note_zero_borders(counts, movie, block.first + first + from, read, block.result.counts);
        return read;
    });
}

/// The GPU's part of a block, up to the fits of single molecules.
void MovieOnGpus::State::localize(Block& block, FoundSpots& found) {
    on_one_of(idle_uploads, nullptr, [&](GpuInUse& gpu, FrameUpload& upload) {
        found.clear();
        block.result = {};
        block.result.first_frame = block.first;
        for (int done = 0; done < block.count;) {
            const int n = bring(gpu, upload, block, done);
            int fitted = 0;  // of these, also by a worker that had no memory for the rest
            if (n > 0)
                on_one_of(idle_workers, &gpu, [&, before = found.fits.count()](GpuInUse&, GpuWorker& worker) {
                    worker.localize(upload.counts(), movie.type, block.first + done, n, fitted, found, block.result);
                    return std::int64_t(found.fits.count() - before);
                });
            done += n;
        }
        return std::int64_t(0);  // they are counted
    });
}

void MovieOnGpus::State::run() {
    std::vector<Block> items(std::size_t(plan.blocks));
    tbb::enumerable_thread_specific<ThreadState> threads([&] { return ThreadState(job); });
    const auto find_groups = [&](std::span<const JointCut> groups) {
        on_one_of(idle_finders, nullptr, [&](GpuInUse&, JointOnGpu& finder) {
            finder.find(groups);
            return std::int64_t(0);  // the spots are counted
        });
    };
    blocks.run(plan.frames, std::move(items), [&](Block& block) {
        ThreadState& mine = threads.local();
        localize(block, mine.found);
        if (block.count == 0) return;
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
        run();
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

MovieOnGpus::MovieOnGpus(const MovieInfo& movie, const Job& job, std::int64_t frames, int gpus, BlocksInOrder& blocks)
    : state_(std::make_unique<State>(movie, job, frames, gpus, blocks)) {}
MovieOnGpus::~MovieOnGpus() = default;

int MovieOnGpus::useful_gpus() const { return state_->useful_gpus; }

offload::Workload& MovieOnGpus::workload() { return *state_; }

void MovieOnGpus::run_on(GpuFitter& fitter, FitInfo& part, bool& useful, const std::function<bool()>& gives_way) {
    State& state = *state_;
    part.backend = "gpu", part.device = fitter.context().name();
    GpuInUse gpu(fitter, state.movie, state.job, state.plan.frames, state.uploads, gives_way);
    state.add(gpu);
    const auto leave = [&](std::unique_lock<std::mutex>& lock) {
        state.withdraw(gpu);
        state.changed_.wait(lock, [&] { return gpu.busy == 0 && gpu.uploading == 0; });
        for (const auto& upload : gpu.uploads)
            part.bytes_up += upload->bytes(), part.transfer_seconds += upload->seconds();
        for (const auto& worker : gpu.workers) {
            const GpuTimes& times = worker->times();
            part.bytes_down += times.bytes_down, part.kernel_seconds += times.detect + times.fit;
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
