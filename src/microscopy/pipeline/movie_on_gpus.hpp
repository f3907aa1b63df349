// Localizes the frames of a job on GPUs that may join and leave. All threads read frames, the GPUs detect and fit, and
// all threads compute rows.
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
    /// `frames`: expected number of frames. `gpus`: number of GPUs available from the start, at least one.
    MovieOnGpus(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames, int gpus, BlocksInOrder& blocks);
    ~MovieOnGpus();

    /// Localizes frames on this GPU too; call it on a thread for each GPU. Returns when all is finished, or after a
    /// block for which `gives_way()` returns true. If this GPU fails, throws gpu::GpuError, and other GPUs repeat its
    /// blocks. Throws what the sink of `blocks` throws. Fills `part` with the GPU's work even if it throws. Sets
    /// `useful` if the GPU completed some fits.
    void run_on(GpuFitter& gpu, FitInfo& part, bool& useful, const std::function<bool()>& gives_way);

    int useful_gpus() const;  ///< the number of GPUs that help: further GPUs would still be opening at the end

    /// Returns the workload. It is finished when no frame is left, when a frame cannot be read, or after a stop.
    offload::Workload& workload();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace glint
