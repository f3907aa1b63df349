// The parallel part: blocks are read in order, localized by all threads, and handed on in order.
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

/// Localizes the frames from `begin` to the job's end. `sink` is called from one thread at a time, in order.
/// Memory: plan_blocks. Stops early, between blocks, when the job's StopFlag is set. What `sink` throws passes.
BlocksDone run_blocks(Movie& movie, const Job& job, std::int64_t begin, const std::function<void(BlockResult)>& sink);

}  // namespace glint
