// Interface of another process that localizes movies on its GPU. This layer knows nothing else about the warm worker,
// which is in a higher layer (../warm_worker).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "fit/fit_service.hpp"
#include "pipeline/blocks_in_order.hpp"

namespace glint {

/// A connection to such a process for one movie. Use it from one thread at a time.
class MovieService {
  public:
    virtual ~MovieService() = default;
    /// Returns the GPU of a running process that could localize the movie, for the cost model.
    virtual std::optional<OpenGpu> open_gpu() = 0;
    /// Localizes frames in a process that is running or that this call starts. If the process ends, another process
    /// continues with the blocks that were not passed on. Returns false if no process is available for this movie; the
    /// remaining frames are left to the caller. `info` receives the work that was done. Throws Cancelled, OptionError,
    /// and what the sink of the blocks throws.
    virtual bool run(FitInfo& info) = 0;
};

/// Defined in ../warm_worker. `frames`: number of frames, or unknown_end. The arguments must outlive the result.
std::unique_ptr<MovieService> make_movie_service(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames,
                                                 BlocksInOrder& blocks);

}  // namespace glint
