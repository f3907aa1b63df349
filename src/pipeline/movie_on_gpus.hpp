// The frames of a job on GPUs that come and go: read by all threads, found and fitted there, made to rows by all threads
// again.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "glint/gpu_fit.hpp"
#include "offload/workload.hpp"
#include "pipeline/blocks_in_order.hpp"

namespace glint {

class MovieOnGpus {
  public:
    /// `frames`: about how many there are.
    MovieOnGpus(const MovieInfo& movie, const Job& job, std::int64_t frames, BlocksInOrder& blocks);
    ~MovieOnGpus();

    /// Has frames localized by this GPU too, from a thread for each GPU, until it is finished, or this GPU fails: throws
    /// gpu::GpuError then, and others do what it had begun. Throws what the sink of `blocks` throws. `part`: what the
    /// GPU did, also when this throws; `useful`: some fits were among it.
    void run_on(GpuFitter& gpu, FitInfo& part, bool& useful);

    int useful_gpus() const;  ///< those that are not still being opened when the others have finished

    /// Finished when no frame is left, or none that can be read, or it was stopped.
    offload::Workload& workload();

  private:
    struct GpuInUse;
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace glint
