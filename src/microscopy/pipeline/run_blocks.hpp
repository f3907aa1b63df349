// The parallel part: all threads read and localize blocks, on GPUs or the CPU. The results are passed on in order.
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

/// How the work ended. `read_error` contains the movie's exception, after all blocks before it were passed on.
struct BlocksDone {
    FitInfo fit;
    std::exception_ptr read_error;
    std::future<void> gpus_closed;  ///< the GPUs are closed in the background; the destructor waits for it
};

/// Returns the next frames to localize; called when all earlier ones are in flight. Empty if there are no more.
using NextFrames = std::function<FrameRange()>;

/// Localizes the frames that `next` returns on the backend of Placement::backend. There are at most `frames`, or an
/// unknown number (unknown_end), for which the backend is chosen as for a long movie. One thread at a time calls
/// `sink`, in the order of `next`. plan_blocks() limits the memory. Stops early, between blocks, when the StopFlag is
/// set. Exceptions of `next` and `sink` propagate.
BlocksDone run_blocks(Movie& movie, const LocalizeJob& job, std::int64_t frames, const NextFrames& next,
                      const std::function<void(BlockResult)>& sink);
/// Returns the number of frames that keeps all threads of such a run busy.
std::int64_t frames_at_once(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames);

}  // namespace glint
