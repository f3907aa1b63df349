// Hands blocks of frames to a worker, and takes what it found.
//
// A thread takes a block from file to rows, as in movie_on_gpus.cpp: it reads the frames into a place of the memory that both
// processes share, has the worker do its part, has groups fitted by way of the same place, and selects. The threads share one
// connection, so that the worker does one job of this process in each turn. Where the worker ends, so does the pipeline, and the
// blocks that were under way are done again.
// SPDX-License-Identifier: MIT
#include "pipeline/warm/movie_by_worker.hpp"

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "fit/fit_info.hpp"
#include "fit/on_gpus.hpp"
#include "fit/worker/camera_setup.hpp"
#include "fit/worker/shared_memory.hpp"
#include "glint/error.hpp"
#include "pipeline/block_plan.hpp"
#include "pipeline/warm/movie_parts.hpp"
#include "pipeline/zero_border.hpp"

namespace glint::worker {
namespace {

// For the results of a block: of uint16 the spots of a frame with a molecule in 80 px fitted together, some 950 bytes each.
constexpr std::size_t least_room = std::size_t(4) << 20, room_for_a_byte = 6;
// Each block that is under way beside others has a part of the worker to itself, which takes a while to set up.
constexpr std::int64_t bytes_worth_a_thread = std::int64_t(8) << 20;

/// The jobs of several threads over one connection. A thread that waits for its reply receives those of others meanwhile.
class Jobs {
  public:
    Jobs(const Link& link, FitInfo& info) : link_(link), info_(info) {}
    /// Returns when it is done. False: there is no room for what it gives. Throws WorkerFailed, OptionError.
    bool done(const MovieJob& job);

  private:
    /// A thread that waits, and is woken for its own reply, or to receive.
    struct Waiting {
        std::condition_variable changed;
        std::optional<MovieReply> reply;
    };
    MovieReply reply_to(const MovieJob& job);
    void receive(std::unique_lock<std::mutex>& lock);

    const Link& link_;
    std::mutex mutex_;  // guards what follows
    bool receiving_ = false;
    std::map<std::uint64_t, Waiting*> waiting_;  // by MovieJob::place; without a reply
    std::optional<WorkerFailed> failure_;
    FitInfo& info_;
};

/// A reply, unlocked meanwhile, for whomever it is.
void Jobs::receive(std::unique_lock<std::mutex>& lock) {
    receiving_ = true;
    lock.unlock();
    MovieReply reply;
    std::optional<WorkerFailed> failure;
    try {
        link_.receive(reply, nullptr);  // after a stop, blocks that are under way are finished
    } catch (const WorkerFailed& failed) {
        failure = failed;
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

MovieReply Jobs::reply_to(const MovieJob& job) {
    std::unique_lock lock(mutex_);
    if (failure_) throw WorkerFailed(*failure_);
    link_.send(job);
    Waiting mine;
    waiting_[job.place] = &mine;
    while (!mine.reply && !failure_)
        if (receiving_)
            mine.changed.wait(lock);
        else
            receive(lock);
    if (!mine.reply) {
        waiting_.erase(job.place);
        throw WorkerFailed(*failure_);
    }
    if (!receiving_ && !waiting_.empty()) waiting_.begin()->second->changed.notify_one();  // it receives from now on
    return *mine.reply;
}

bool Jobs::done(const MovieJob& job) {
    const MovieReply reply = reply_to(job);
    if (reply.done.outcome == Outcome::too_large) return false;
    const std::lock_guard lock(mutex_);
    take(reply.done, info_);
    info_.fits += reply.fits;
    return true;
}

/// Where a block is in the shared memory: its frames, and then the room for results. Groups may take all of it.
struct Place {
    std::byte* memory = nullptr;  // all that is shared
    std::uint64_t at = 0, results_at = 0, end = 0;

    MovieJob frames(std::size_t frame_bytes, std::int64_t first_frame, int first, int count) const {
        return {MovieWork::block,    std::uint32_t(count), at + std::size_t(first) * frame_bytes,
                first_frame + first, results_at,           end - results_at};
    }
    MovieJob groups(std::size_t count) const { return {MovieWork::groups, std::uint32_t(count), 0, 0, at, end - at}; }
    std::span<std::byte> bytes_of(const MovieJob& job) const { return {memory + job.place, std::size_t(job.bytes)}; }
};

struct SharedBlock : Block {
    Place place;
};

/// What a thread needs for its part.
struct OfThread {
    explicit OfThread(const Job& job) : found(job), part(job) {}
    Fitter fitter;
    FoundSpots found, part;
};

WorkerFailed no_room(const char* what) {
    return {fmt::format("the memory shared with it has no room for {}", what), false};
}

/// What every thread of a run has.
struct Shared {
    const Job& job;
    const std::size_t frame_bytes;
    Jobs jobs;

    void localize(SharedBlock& block, int first, int count, OfThread& mine);
    void find(const Place& place, std::span<const JointCut> groups);
};

/// Appends what is found in frames [first, first + count) of the block to mine.found; does halves where there is no room.
void Shared::localize(SharedBlock& block, int first, int count, OfThread& mine) {
    const MovieJob asked = block.place.frames(frame_bytes, block.first, first, count);
    if (!jobs.done(asked)) {
        if (count == 1) throw no_room("the spots of one frame");
        localize(block, first, count / 2, mine);
        return localize(block, first + count / 2, count - count / 2, mine);
    }
    if (!unpack(block.place.bytes_of(asked), job, count, mine.part, block.result))
        throw WorkerFailed{"what it gave is no block of this movie"};
    first == 0 ? std::swap(mine.found, mine.part) : mine.found.append(mine.part);
}

/// As JointOnGpu::find; of halves where there is no room for all.
void Shared::find(const Place& place, std::span<const JointCut> groups) {
    const MovieJob asked = place.groups(groups.size());
    if (!pack(groups, place.bytes_of(asked)) || !jobs.done(asked)) {
        if (groups.size() == 1) throw no_room("a group of molecules");
        find(place, groups.first(groups.size() / 2));
        return find(place, groups.subspan(groups.size() / 2));
    }
    if (!unpack_fits(place.bytes_of(asked), groups)) throw WorkerFailed{"what it gave are no fits of these groups"};
}

}  // namespace

MovieByWorker::MovieByWorker(const MovieInfo& movie, const Job& job, const FitOptions& options, std::int64_t frames,
                             BlocksInOrder& blocks)
    : movie_(movie), job_(job), options_(options), frames_(frames), blocks_(blocks) {}

std::size_t MovieByWorker::place_bytes(int block_frames) const {
    const std::size_t frames = whole_pages(std::size_t(block_frames) * movie_.frame_bytes());
    return frames + std::max(room_for_a_byte * frames, least_room);
}

bool MovieByWorker::can_serve() const {
    return frames_ > 0 && frames_ != unknown_end && wants_worker(job_.options.psf, options_) &&
           bytes_of_maps(job_.camera) + 2 * place_bytes(1) <= most_memory;
}

bool MovieByWorker::is_running() { return link_.serves(options_) || link_.connect(options_, Wish::movie, false); }

bool MovieByWorker::run(FitInfo& info) {
    const Clock::time_point began = Clock::now();
    const auto report = [&](const std::string& what) {
        info.events.push_back({seconds_since(began), what});
        if (options_.log) options_.log(what);
    };
    for (int failures = 0; failures < most_failures; ++info.retries) {
        if (!link_.serves(options_) && !link_.connect(options_, Wish::movie, true)) {
            report("no worker: " + link_.why_not());
            return false;
        }
        FitInfo part;
        part.backend = "gpu", part.device = link_.greeting().name.str();
        const std::int64_t finished = blocks_.finished();
        const Clock::time_point run_began = Clock::now();
        std::optional<WorkerFailed> failure;
        try {
            run_with(part);
        } catch (const WorkerFailed& failed) {
            failure = failed;
        }
        link_.disconnect();
        add_part(info, part, link_.greeting().name.str(), link_.greeting().uuid.str(), seconds_since(run_began));
        if (!failure) return true;
        report((failure->another_may_do ? "the worker failed: " : "without the worker: ") + failure->what);
        if (!failure->another_may_do) return false;
        failures = blocks_.finished() > finished ? 1 : failures + 1;
    }
    return false;
}

void MovieByWorker::run_with(FitInfo& part) {
    const std::int64_t threads_worth = frames_ * std::int64_t(movie_.frame_bytes()) / bytes_worth_a_thread;
    const int threads = int(std::clamp<std::int64_t>(threads_worth, 1, job_.threads));
    const BlockPlan plan = plan_gpu_blocks(movie_.frame_bytes(), frames_, threads, job_.options.memory_bytes);
    const std::size_t maps = whole_pages(bytes_of_maps(job_.camera)), each = place_bytes(plan.frames);
    const std::size_t places = std::clamp<std::size_t>((most_memory - maps) / each, 1, std::size_t(plan.blocks));
    const std::optional<SharedMemory> memory = SharedMemory::create(maps + places * each);
    if (!memory) throw WorkerFailed{fmt::format("no {} bytes to share with it", maps + places * each), false};
    pack_maps(job_.camera, {memory->data(), maps});
    link_.send(setup_of(job_, movie_.type), memory->descriptor());
    std::vector<SharedBlock> items(places);
    for (std::size_t k = 0; k < places; ++k) {
        const std::uint64_t at = maps + k * each;
        items[k].place = {memory->data(), at, at + whole_pages(std::size_t(plan.frames) * movie_.frame_bytes()),
                          at + each};
    }
    Shared shared{job_, movie_.frame_bytes(), Jobs(link_, part)};
    tbb::enumerable_thread_specific<OfThread> of_threads([&] { return OfThread(job_); });
    blocks_.run(plan.frames, std::move(items), [&](SharedBlock& block) {
        OfThread& mine = of_threads.local();
        std::byte* const counts = memory->data() + block.place.at;
        blocks_.read(block, counts);
        if (block.count == 0) return;
        note_zero_borders(counts, movie_, block.first, block.count, block.result.counts);
        shared.localize(block, 0, block.count, mine);
        try {
            add_rows(job_, mine.fitter, mine.found, block.result,
                     [&](std::span<const JointCut> groups) { shared.find(block.place, groups); });
        } catch (const Cancelled&) {
            block.give_up();
        }
    });
}

}  // namespace glint::worker
