// Passes blocks of frames to a worker, and receives the rows.
//
// For each block in progress, a thread waits for the worker. The worker also has a thread for the block and does
// everything from reading the file to the rows (movies_on_gpu.cpp). It cannot read packed frames, or frames that the
// system has not cached. The client reads these into shared memory. The rows return in shared memory, too. The threads
// share one connection, so that the worker does one job of this process in each rotation. If the worker ends, this
// pipeline also ends, and blocks in progress are repeated.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "fit/fit_info.hpp"
#include "fit/on_gpus.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "pipeline/block_plan.hpp"
#include "pipeline/gpu_memory_plan.hpp"
#include "pipeline/movie_service.hpp"
#include "warm_worker/camera_setup.hpp"
#include "warm_worker/movie_messages.hpp"
#include "warm_worker/shared_memory.hpp"
#include "warm_worker/worker_connection.hpp"

namespace glint::warm_worker {
namespace {

// Room for the rows of a block, about 80 bytes each. With as many bytes as the frames need, uint16 frames may contain a
// molecule per 40 px.
constexpr std::size_t min_room = std::size_t(1) << 20;
// Each additional block in progress occupies resources of the worker, which take a while to set up.
constexpr std::int64_t bytes_worth_a_thread = std::int64_t(8) << 20;

/// Jobs of several threads over one connection. A thread that waits for its reply also receives the replies for other
/// threads.
class JobsOfThreads {
  public:
    JobsOfThreads(const WorkerConnection& worker, const StopFlag* stop, FitInfo& info)
        : worker_(worker), stop_(stop), info_(info) {}
    /// Returns when the job is done, or why it is not: too_large or not_there. `file`: needed if the job's frames are
    /// in a file. Throws WorkerFailed, OptionError, Cancelled.
    Outcome done(const MovieJob& job, const FramesInFile* file = nullptr);

  private:
    /// A waiting thread. It is woken for its own reply, or to receive.
    struct Waiting {
        std::condition_variable changed;
        std::optional<MovieReply> reply;
    };
    void send(const MovieJob& job, const FramesInFile* file);
    MovieReply reply_to(const MovieJob& job, const FramesInFile* file);
    void receive(std::unique_lock<std::mutex>& lock);

    const WorkerConnection& worker_;
    const StopFlag* const stop_;
    std::mutex mutex_;  // guards the members below
    bool receiving_ = false;
    std::map<std::uint64_t, Waiting*> waiting_;  // jobs without a reply, by MovieJob::place
    std::exception_ptr failure_;
    FramesInFile file_;  // the last file sent; held open so that no other file gets its number
    FitInfo& info_;
};

/// Sends the descriptor of a file only if it differs from the last one.
void JobsOfThreads::send(const MovieJob& job, const FramesInFile* file) {
    const bool is_other = file && (file->descriptor != file_.descriptor || file->open != file_.open);
    worker_.send(job, is_other ? file->descriptor : -1);
    if (is_other) file_.descriptor = file->descriptor, file_.open = file->open;
}

/// Receives a reply, without the lock, and passes it to its thread.
void JobsOfThreads::receive(std::unique_lock<std::mutex>& lock) {
    receiving_ = true;
    lock.unlock();
    MovieReply reply;
    std::exception_ptr failure;
    try {
        worker_.receive(reply, stop_);
    } catch (...) {
        failure = std::current_exception();
    }
    lock.lock();
    receiving_ = false;
    if (failure) {
        failure_ = failure;
        for (const auto& [place, waiting] : waiting_) waiting->changed.notify_one();
    } else if (const auto found = waiting_.extract(reply.place)) {
        found.mapped()->reply = reply;
        found.mapped()->changed.notify_one();
    }
}

MovieReply JobsOfThreads::reply_to(const MovieJob& job, const FramesInFile* file) {
    std::unique_lock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    send(job, file);
    Waiting mine;
    waiting_[job.place] = &mine;
    while (!mine.reply && !failure_)
        if (receiving_)
            mine.changed.wait(lock);
        else
            receive(lock);
    if (!mine.reply) {
        waiting_.erase(job.place);
        std::rethrow_exception(failure_);
    }
    if (!receiving_ && !waiting_.empty()) waiting_.begin()->second->changed.notify_one();  // it receives from now on
    return *mine.reply;
}

Outcome JobsOfThreads::done(const MovieJob& job, const FramesInFile* file) {
    const MovieReply reply = reply_to(job, file);
    const Outcome outcome = reply.done.outcome;
    if (outcome == Outcome::too_large || outcome == Outcome::not_there) return outcome;
    const std::lock_guard lock(mutex_);
    take(reply.done, info_);
    info_.fits += reply.fits;
    return outcome;
}

/// A block and its position in shared memory: first its frames or their offsets in a file, then the room for rows.
struct SharedBlock : BlockInFlight {
    std::uint64_t at = 0, results_at = 0, end = 0;
    bool was_read = false;

    MovieJob job(FramesFrom from, std::uint64_t frames_at, int from_frame, int frames) const {
        return {from, std::uint32_t(frames), frames_at, first + from_frame, results_at, end - results_at};
    }
};

/// What the threads of a run share.
struct ClientRun {
    const LocalizeJob& job;
    const BlocksInOrder& blocks;
    const std::size_t frame_bytes;
    std::byte* const memory;
    JobsOfThreads jobs;

    Outcome from_file(const SharedBlock& block, int first, int count);
    void localize(SharedBlock& block, int first, int count);
};

Outcome ClientRun::from_file(const SharedBlock& block, int first, int count) {
    const std::optional<FramesInFile> file = blocks.in_file(block, first, count);
    if (!file) return Outcome::not_there;
    std::memcpy(memory + block.at, file->offsets.data(), file->offsets.size() * sizeof file->offsets[0]);
    return jobs.done(block.job(FramesFrom::file, block.at, first, count), &*file);
}

/// Appends the rows of the block's frames [first, first + count). If there is no room for the rows, requests them in
/// two halves. If the worker cannot read frames, reads all remaining frames of the block here. An unreadable frame ends
/// the block.
void ClientRun::localize(SharedBlock& block, int first, int count) {
    Outcome outcome = block.was_read ? Outcome::not_there : from_file(block, first, count);
    if (outcome == Outcome::not_there) {
        std::byte* const counts = memory + block.at;
        if (!block.was_read) blocks.read(block, first, block.count - first, counts + std::size_t(first) * frame_bytes);
        block.was_read = true;
        count = std::min(count, block.count - first);
        if (count <= 0) return;
        const std::uint64_t at = block.at + std::uint64_t(first) * frame_bytes;
        outcome = jobs.done(block.job(FramesFrom::memory, at, first, count));
    }
    if (outcome == Outcome::too_large) {
        if (count == 1) throw WorkerFailed{"the memory shared with it has no room for the rows of one frame", false};
        localize(block, first, count / 2);
        return localize(block, first + count / 2, count - count / 2);
    }
    const std::span<const std::byte> rows(memory + block.results_at, block.end - block.results_at);
    if (!unpack(rows, job, block.first + first, count, block.result))
        throw WorkerFailed{"its reply is not a block of this movie"};
}

/// Plans blocks that the worker can process as a whole.
BlockPlan plan_of(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames, int threads) {
    BlockPlan plan = plan_gpu_blocks(movie.frame_bytes(), frames, threads, job.options.memory_bytes);
    if (const std::uint64_t memory = job.options.gpu_memory_bytes; memory > 0)  // 0: all memory
        plan.frames = frames_on_gpu(memory, movie, job, plan.frames, std::size_t(environment::usable_threads())).frames;
    return plan;
}

/// Localizes the frames of a job through a worker: all threads pass blocks and receive rows.
class MovieClient final : public MovieService {
  public:
    /// `frames`: number of frames, or unknown_end.
    MovieClient(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames, BlocksInOrder& blocks);

    std::optional<OpenGpu> open_gpu() override;
    bool run(FitInfo& info) override;

  private:
    bool can_serve() const;
    std::size_t place_bytes(int block_frames) const;
    void run_with(FitInfo& part);

    const MovieInfo& movie_;
    const LocalizeJob& job_;
    const LocalizeOptions& options_;  // of the job
    const std::int64_t frames_;
    BlocksInOrder& blocks_;
    WorkerConnection worker_;
};

MovieClient::MovieClient(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames, BlocksInOrder& blocks)
    : movie_(movie), job_(job), options_(job.options), frames_(frames), blocks_(blocks) {}

std::size_t MovieClient::place_bytes(int block_frames) const {
    const std::size_t frames = whole_pages(std::size_t(block_frames) * movie_.frame_bytes());
    return frames + std::max(frames, min_room);
}

/// Returns true if a worker could localize this movie: wants_worker() is true, its end is known, and two of its frames
/// fit into the memory that a client may share.
bool MovieClient::can_serve() const {
    return frames_ > 0 && frames_ != unknown_end && wants_worker(job_.options.psf, options_) &&
           num_bytes(large_parts(job_)) + 2 * place_bytes(1) <= max_memory;
}

std::optional<OpenGpu> MovieClient::open_gpu() {
    if (!can_serve()) return {};
    if (!worker_.serves(options_) && !worker_.connect(options_, options_.stop, RequestKind::movie, false)) return {};
    return OpenGpu{worker_.greeting().uuid.str(), worker_.greeting().driver.str()};
}

bool MovieClient::run(FitInfo& info) {
    if (!can_serve()) return false;
    const Clock::time_point began = Clock::now();
    const auto report = [&](const std::string& what) {
        info.events.push_back({seconds_since(began), what});
        if (options_.log) options_.log(what);
    };
    for (int failures = 0; failures < max_failures; ++info.retries) {
        if (!worker_.serves(options_) && !worker_.connect(options_, options_.stop, RequestKind::movie, true)) {
            report("no worker: " + worker_.why_not());
            return false;
        }
        FitInfo part;
        part.backend = "gpu", part.device = worker_.greeting().name.str();
        const std::int64_t finished = blocks_.finished();
        const Clock::time_point run_began = Clock::now();
        std::optional<WorkerFailed> failure;
        try {
            run_with(part);
        } catch (const WorkerFailed& failed) {
            failure = failed;
        }
        worker_.disconnect();
        add_part(info, part, worker_.greeting().name.str(), worker_.greeting().uuid.str(), seconds_since(run_began));
        if (!failure) return true;
        report((failure->another_may_do ? "the worker failed: " : "without the worker: ") + failure->what);
        if (!failure->another_may_do) return false;
        failures = blocks_.finished() > finished ? 1 : failures + 1;
    }
    return false;
}

void MovieClient::run_with(FitInfo& part) {
    const std::int64_t threads_worth = frames_ * std::int64_t(movie_.frame_bytes()) / bytes_worth_a_thread;
    const int threads = int(std::clamp<std::int64_t>(threads_worth, 1, job_.threads));
    const BlockPlan plan = plan_of(movie_, job_, frames_, threads);
    const LargeParts parts = large_parts(job_);
    const std::size_t large = whole_pages(num_bytes(parts)), each = place_bytes(plan.frames);
    const std::size_t places = std::clamp<std::size_t>((max_memory - large) / each, 1, std::size_t(plan.blocks));
    const std::optional<SharedMemory> memory = SharedMemory::create(large + places * each);
    if (!memory)
        throw WorkerFailed{fmt::format("could not allocate {} bytes to share with it", large + places * each), false};
    pack(parts, {memory->data(), large});
    worker_.send(setup_of(job_, movie_.type), memory->descriptor());
    std::vector<SharedBlock> items(places);
    for (std::size_t k = 0; k < places; ++k) {
        items[k].at = large + k * each, items[k].end = large + (k + 1) * each;
        items[k].results_at = items[k].at + whole_pages(std::size_t(plan.frames) * movie_.frame_bytes());
    }
    ClientRun run{job_, blocks_, movie_.frame_bytes(), memory->data(), JobsOfThreads(worker_, job_.options.stop, part)};
    blocks_.run(plan.frames, std::move(items), [&](SharedBlock& block) {
        block.was_read = false;
        try {
            run.localize(block, 0, block.count);
        } catch (const Cancelled&) {
            block.give_up();
        }
    });
}

}  // namespace
}  // namespace glint::warm_worker

namespace glint {

std::unique_ptr<MovieService> make_movie_service(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames,
                                                 BlocksInOrder& blocks) {
    return std::make_unique<warm_worker::MovieClient>(movie, job, frames, blocks);
}

}  // namespace glint
