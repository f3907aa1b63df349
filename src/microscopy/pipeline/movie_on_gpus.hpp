// Localizes the frames of a job on GPUs that may join and leave: all threads read frames, the GPUs detect and fit, and
// all threads make rows.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "glint/gpu_fit.hpp"
#include "offload/workload.hpp"
#include "pipeline/blocks_in_order.hpp"

namespace glint {

class MovieOnGpus {
  public:
    /// `frames`: about how many there are. `gpus`: that may be had at once, at least one.
    MovieOnGpus(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames, int gpus, BlocksInOrder& blocks);
    ~MovieOnGpus();

    /// Localizes frames on this GPU too, on a thread for each GPU, until all is finished or this GPU fails: then throws
    /// gpu::GpuError, and other GPUs redo its blocks; or until `gives_way()` says so after a block. Throws what the
    /// sink of `blocks` throws. `part`: what the GPU did, also when this throws; `useful`: it completed some fits.
    void run_on(GpuFitter& gpu, FitInfo& part, bool& useful, const std::function<bool()>& gives_way);

    int useful_gpus() const;  ///< of those; more would still be opening when the others have finished

    /// Finished when no frame is left, when a frame cannot be read, or after a stop.
    offload::Workload& workload();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace glint
