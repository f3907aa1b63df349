// Another process that localizes movies on its GPU: all that this layer knows of the warm worker, which lies above
// (../warm_worker).
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
    /// Returns the GPU of a process that is running already and could localize the movie; for the cost model.
    virtual std::optional<OpenGpu> open_gpu() = 0;
    /// Localizes frames by a process that is running or that this call starts. If the process ends, another one
    /// continues with the blocks that were not passed on. Returns false if none is available for this movie; the
    /// remaining frames are left to the caller. `info` receives what was done. Throws Cancelled, OptionError, and what
    /// the sink of the blocks throws.
    virtual bool run(FitInfo& info) = 0;
};

/// Defined by the layer above. `frames`: how many there are, or unknown_end. The arguments must outlive the result.
std::unique_ptr<MovieService> make_movie_service(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames,
                                                 BlocksInOrder& blocks);

}  // namespace glint
