// One stream's way from blocks of raw frames to fits, on a GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>

#include "detect/cuda/gpu_detector.hpp"
#include "fit/cuda/fit_on_gpu.hpp"
#include "pipeline/found_spots.hpp"

namespace glint {

/// Seconds on the GPU, and what went over the link.
struct GpuTimes {
    double upload = 0, detect = 0, fit = 0;
    std::int64_t bytes_up = 0, bytes_down = 0;
};

/// Device memory that such a job takes for each frame in hand, about.
std::size_t gpu_bytes_of_frame(const MovieInfo& movie, const Job& job);

/// Uploads frames once, finds spots, cuts and fits them there, and brings ROIs and fits back. Holds its stream and its
/// buffers; use one from one thread at a time. The result of a frame depends on the frame alone.
class GpuWorker {
  public:
    /// At most so many frames at once. `job` and `kernels` must outlive it.
    GpuWorker(const gpu::Context& context, const gpu::Module& detect, FitKernels& kernels, const Job& job, int frames);
    ~GpuWorker();  ///< waits for what is under way

    /// `counts`: pinned memory. Replaces `found`; adds the frames' noise and bad pixels to `result`. Where memory does
    /// not suffice it takes fewer frames at once, from then on. Throws gpu::GpuError.
    void localize(const std::byte* counts, PixelType type, std::int64_t first_frame, int frames, FoundSpots& found,
                  BlockResult& result);
    const GpuTimes& times() const { return times_; }  ///< of all blocks so far

  private:
    void find_and_fit(const std::byte* counts, PixelType type, std::int64_t first_frame, int frames, FoundSpots& found);
    void take(const GpuSpots& spots, std::int64_t first_frame, FoundSpots& found);
    void make_anew();
    void settle() noexcept;

    const gpu::Context context_;
    const gpu::Module detect_;
    FitKernels& kernels_;
    const Job& job_;
    int frames_;
    gpu::Stream stream_;
    std::optional<GpuDetector> detector_;
    std::optional<FitOnGpu> fit_;
    gpu::Pinned<int> places_;
    gpu::Pinned<float> starts_, pixels_;
    FoundSpots part_;
    GpuTimes times_;
};

}  // namespace glint
