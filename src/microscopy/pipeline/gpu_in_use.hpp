// One of the GPUs that localize a movie, while it does: the parts that threads borrow, and what became of it.
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

/// Calls GpuFitter::share() at most every 100 ms, once all have allocated what they need (two pieces of work each).
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

/// Threads borrow its parts from GpusInUse, whose mutex guards the numbers.
struct GpuInUse {
    /// Allocates the parts, each of which holds up to `block_frames` frames, with up to `most_uploads` uploads.
    GpuInUse(GpuFitter& gpu, const MovieInfo& movie, const LocalizeJob& job, int block_frames, std::size_t most_uploads,
             const std::function<bool()>& gives_way_now);
    /// Adds what the parts did. No thread may have borrowed any.
    void add_to(FitInfo& info) const;

    GpuFitter& fitter;
    const std::function<bool()>& gives_way;
    const FramesOnGpu room;
    std::vector<std::unique_ptr<FrameUpload>> uploads;
    std::vector<std::unique_ptr<GpuLocalizer>> localizers;
    std::vector<std::unique_ptr<JointOnGpu>> finders;
    LeaseKeeper keeper;
    std::size_t uploading = 0;       // borrowed uploads
    bool one_upload = false;         // only one is lent at a time: with more, there was no memory for the rest
    std::size_t busy = 0;            // borrowed localizers and finders
    std::size_t done = 0;            // how often one of these was put back
    std::size_t without_memory = 0;  // of the borrowed ones, who waits for others
    std::int64_t fits = 0;           // of the blocks that succeeded
    std::exception_ptr failure;      // if set, its parts are not lent any more
    bool gave_way = false;           // and that is the failure
};

}  // namespace glint
