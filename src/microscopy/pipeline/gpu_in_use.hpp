// One of the GPUs that localize a movie: the parts that threads borrow, and the GPU's state.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "fit/cuda/joint_on_gpu.hpp"
#include "glint/gpu_fit.hpp"
#include "pipeline/frame_upload.hpp"
#include "pipeline/gpu_localizer.hpp"
#include "pipeline/gpu_memory_plan.hpp"

namespace glint {

/// Calls GpuFitter::share() at most every 100 ms, after all parts have allocated their memory (two pieces of work
/// each).
class LeaseKeeper {
  public:
    LeaseKeeper(GpuFitter& gpu, std::size_t borrowed) : gpu_(gpu), works_until_(2 * borrowed) {}
    void look();

  private:
    GpuFitter& gpu_;
    std::mutex mutex_;
    std::size_t works_until_;
    std::chrono::steady_clock::time_point looked_{};
};

/// Threads borrow parts of the GPU through GpusInUse, whose mutex guards the counters.
struct GpuInUse {
    /// Allocates the parts: up to `max_uploads` uploads, and each part for up to `block_frames` frames.
    GpuInUse(GpuFitter& gpu, const MovieInfo& movie, const LocalizeJob& job, int block_frames, std::size_t max_uploads,
             const std::function<bool()>& gives_way_now);
    /// Adds the work of all parts to `info`. No part may be borrowed.
    void add_to(FitInfo& info) const;

    GpuFitter& fitter;
    const std::function<bool()>& gives_way;
    const FramesOnGpu room;
    std::vector<std::unique_ptr<FrameUpload>> uploads;
    std::vector<std::unique_ptr<GpuLocalizer>> localizers;
    std::vector<std::unique_ptr<JointOnGpu>> finders;
    LeaseKeeper keeper;
    std::size_t uploading = 0;       // borrowed uploads
    bool one_upload = false;         // lend only one at a time, because memory did not suffice for more
    std::size_t busy = 0;            // borrowed localizers and finders
    std::size_t done = 0;            // number of localizers and finders that were put back so far
    std::size_t without_memory = 0;  // number of borrowed parts that wait for memory
    std::int64_t fits = 0;           // number of fits of the completed blocks
    std::exception_ptr failure;      // if set, its parts are no longer lent
    bool gave_way = false;           // `failure` means that the GPU gave way
};

}  // namespace glint
