// The frames of a job on GPUs that come and go: read by all threads, found and fitted there, made to rows by all threads
// again.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "glint/gpu_fit.hpp"
#include "offload/run_on_devices.hpp"
#include "pipeline/blocks_in_order.hpp"

namespace glint {

/// It is finished when no frame is left, or none that can be read, or it was stopped.
class MovieOnGpus final : public offload::Workload {
  public:
    /// `frames`: about how many there are.
    MovieOnGpus(const MovieInfo& movie, const Job& job, std::int64_t frames, BlocksInOrder& blocks);
    ~MovieOnGpus() override;

    /// Has frames localized by this GPU too, from a thread for each GPU, until it is finished, or this GPU fails: throws
    /// gpu::GpuError then, and others do what it had begun. Throws what the sink of `blocks` throws. `part`: what the
    /// GPU did, also when this throws; `useful`: some fits were among it.
    void run_on(GpuFitter& gpu, FitInfo& part, bool& useful);

    int useful_gpus() const;  ///< those that are not still being opened when the others have finished

    bool wait_for_work(const StopFlag* stop) override;
    bool wait_for_end(double seconds) override;
    void close() override;
    bool is_finished() const override;
    std::chrono::steady_clock::time_point progressed() const override;

  private:
    struct GpuInUse;
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace glint
