// The parallel part: all threads read and localize blocks, on GPUs or the CPU, and the results are passed on in order.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <future>

#include "glint/movie.hpp"
#include "pipeline/block_result.hpp"
#include "pipeline/localize_job.hpp"

namespace glint {

/// How the work ended. `read_error` holds what the movie threw, after all blocks before it were passed on.
struct BlocksDone {
    FitInfo fit;
    std::exception_ptr read_error;
    std::future<void> gpus_closed;  ///< GPUs are closed meanwhile; its destructor waits for them
};

/// Returns the next frames to localize; called when all earlier ones are in flight. Empty: there are no more.
using NextFrames = std::function<FrameRange()>;

/// Localizes the frames that `next` names, `frames` in all or fewer (unknown_end: number unknown, and CPU or GPU is
/// chosen as for a long movie), where Placement::backend says. `sink` is called by one thread at a time, in order of
/// `next`. Memory: plan_blocks. Stops early, between blocks, when the StopFlag is set. Exceptions of both propagate.
BlocksDone run_blocks(Movie& movie, const LocalizeJob& job, std::int64_t frames, const NextFrames& next,
                      const std::function<void(BlockResult)>& sink);
/// The number of frames that keeps all threads of such a run busy.
std::int64_t frames_at_once(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames);

}  // namespace glint
