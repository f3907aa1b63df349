// Reading, localizing and handing on blocks at once, with the error that a bad frame makes.
// SPDX-License-Identifier: MIT
#include "pipeline/run_blocks.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "glint/error.hpp"
#include "pipeline/block_plan.hpp"
#include "pipeline/in_order.hpp"
#include "pipeline/worker.hpp"

namespace glint {
namespace {

/// A block of frames and what was made of it.
struct Block {
    FrameBlock frames;
    BlockResult result;
    bool finished = false;
};

/// Reads block after block.
class Reader {
  public:
    Reader(Movie& movie, const Job& job, const NextFrames& next, int block_frames)
        : movie_(movie), stop_(job.options.stop), next_(next), block_frames_(block_frames) {}

    /// False at the end, after a stop, and after an error.
    bool next(FrameBlock& block) {
        while (!error_ && !(stop_ && stop_->load())) {
            if (now_.begin >= now_.end) now_ = next_();
            if (now_.begin >= now_.end) return false;
            const int count = int(std::min<std::int64_t>(block_frames_, now_.end - now_.begin));
            if (!read(count, block)) continue;
            now_.begin += count;
            return true;
        }
        return false;
    }
    std::exception_ptr error() const { return error_; }

  private:
    /// A block that cannot be read is tried frame by frame, so that the frames before the bad one count.
    bool read(int count, FrameBlock& block) try {
        movie_.read(now_.begin, count, block);
        return true;
    } catch (const Error&) {
        if (count == 1) error_ = std::current_exception();
        block_frames_ = 1;
        return false;
    }

    Movie& movie_;
    const StopFlag* stop_;
    const NextFrames& next_;
    FrameRange now_;
    int block_frames_;
    std::exception_ptr error_;
};

BlockPlan plan_of(const MovieInfo& movie, const Job& job, std::int64_t frames) {
    const std::size_t frame_bytes = std::size_t(movie.width) * movie.height * bytes_of(movie.type);
    return plan_blocks(frame_bytes, frames, job.threads, job.options.memory_bytes);
}

}  // namespace

BlocksDone run_blocks(Movie& movie, const Job& job, std::int64_t begin, const std::function<void(BlockResult)>& sink) {
    FrameRange all{begin, job.frames.end};
    return run_blocks(
        movie, job, all.end - all.begin, [&] { return std::exchange(all, {}); }, sink);
}

std::int64_t frames_at_once(const MovieInfo& movie, const Job& job, std::int64_t frames) {
    return plan_of(movie, job, frames).frames * std::int64_t(job.threads);
}

BlocksDone run_blocks(Movie& movie, const Job& job, std::int64_t frames, const NextFrames& next,
                      const std::function<void(BlockResult)>& sink) {
    const BlockPlan plan = plan_of(movie.info(), job, frames);
    Reader reader(movie, job, next, plan.frames);
    Fitter fitter;
    tbb::enumerable_thread_specific<Worker> workers([&] { return Worker(job, fitter); });
    bool stopped = false;
    in_order(
        job.threads, std::vector<Block>(std::size_t(plan.blocks)),
        [&](Block& block) { return reader.next(block.frames); },
        [&](Block& block) {
            block.finished = false;
            try {
                block.result = workers.local().localize(block.frames);
                block.finished = true;
            } catch (const Cancelled&) {  // while it waited for a GPU
            }
        },
        [&](Block& block) {
            stopped = stopped || !block.finished;  // blocks count in order only
            if (!stopped) sink(std::move(block.result));
        });

    BlocksDone done;
    for (const Worker& worker : workers) add(done.fit, worker.fit_info());
    done.fit.threads = job.threads;
    done.read_error = reader.error();
    return done;
}

}  // namespace glint
