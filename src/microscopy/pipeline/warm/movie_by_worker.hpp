// Localizes the frames of a job by a warm worker: all threads read frames into memory that both share, the worker finds and
// fits, and all threads make rows.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "fit/worker/link.hpp"
#include "pipeline/blocks_in_order.hpp"

namespace glint::worker {

class MovieByWorker {
  public:
    /// `frames`: how many there are; unknown_end: that is not known.
    MovieByWorker(const MovieInfo& movie, const Job& job, std::int64_t frames, BlocksInOrder& blocks);

    /// Whether a worker could do this movie: one that wants_worker(), whose end is known, and of which two frames find room in
    /// the memory that a client may share.
    bool can_serve() const;
    /// Connects to a worker that is running already. False: there is none.
    bool is_running();
    const Greeting& greeting() const { return link_.greeting(); }

    /// Localizes frames by a worker that is there or that it starts. Where that ends, another one goes on, with the blocks that
    /// were not passed on. False: none can be had, and what is left is for others. `info` receives what was done. Throws
    /// Cancelled, OptionError, and what the sink of `blocks` throws.
    bool run(FitInfo& info);

  private:
    std::size_t place_bytes(int block_frames) const;
    void run_with(FitInfo& part);

    const MovieInfo& movie_;
    const Job& job_;
    const LocalizeOptions& options_;  // of the job
    const std::int64_t frames_;
    BlocksInOrder& blocks_;
    Link link_;
};

}  // namespace glint::worker
