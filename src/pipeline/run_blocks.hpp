// The parallel part: blocks are read and localized by all threads, on a GPU or the CPU, and handed on in order.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <exception>
#include <functional>

#include "glint/movie.hpp"
#include "pipeline/block_result.hpp"
#include "pipeline/job.hpp"

namespace glint {

/// How it ended. `read_error` holds what the movie threw, after all blocks before it were handed on.
struct BlocksDone {
    FitInfo fit;
    std::exception_ptr read_error;
};

/// The next frames to localize, asked for when those before are on their way; empty: there are no more.
using NextFrames = std::function<FrameRange()>;

/// Localizes `frames` in all, or fewer, as `next` names them (unknown_end: nobody knows how many, and the choice between CPU
/// and GPU is that of a long movie), where FitOptions::backend says. `sink` is called from one thread at a time, in the order in which they were named. Memory: plan_blocks. Stops early, between blocks, when the
/// job's StopFlag is set. What `next` and `sink` throw passes.
BlocksDone run_blocks(Movie& movie, const Job& job, std::int64_t frames, const NextFrames& next,
                      const std::function<void(BlockResult)>& sink);
/// Frames that keep all threads of such a run busy.
std::int64_t frames_at_once(const MovieInfo& movie, const Job& job, std::int64_t frames);

}  // namespace glint
