// Turns raw frames in a GPU's memory into fits, on one stream.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>

#include "detect/cuda/gpu_detector.hpp"
#include "fit/cuda/fit_on_gpu.hpp"
#include "pipeline/found_spots.hpp"

namespace glint {

/// GPU time in seconds, and the number of downloaded bytes.
struct GpuTimes {
    double detect = 0, fit = 0;
    std::int64_t bytes_down = 0;
};

/// Finds, cuts and fits spots, and downloads ROIs and fits. Owns its stream and its buffers; use it from one thread at
/// a time. A frame's result depends on that frame alone.
class GpuLocalizer {
  public:
    /// Processes at most `frames` frames simultaneously. `job` and `kernels` must outlive it.
    GpuLocalizer(const gpu::Context& context, const gpu::Module& detect, FitKernels& kernels, const LocalizeJob& job,
                 int frames);
    ~GpuLocalizer();  ///< waits for work in progress

    /// Localizes frames from `done` on, and advances `done`, so that another call can continue after gpu::OutOfMemory.
    /// No other stream may use `counts` during the call. Appends to `found`; adds the frames' noise and bad pixels to
    /// `result`. If GPU memory does not suffice, processes fewer frames simultaneously from then on. Throws
    /// gpu::GpuError.
    void localize(const gpu::Buffer<std::byte>& counts, PixelType type, std::int64_t first_frame, int frames, int& done,
                  FoundSpots& found, BlockResult& result);
    void free();                                      ///< frees the GPU's memory until the next localize()
    const GpuTimes& times() const { return times_; }  ///< of all blocks so far

  private:
    void find_and_fit(const gpu::Buffer<std::byte>& counts, PixelType type, std::int64_t first_frame, int frames,
                      FoundSpots& found);
    void bring_wide(std::int64_t first, std::int64_t n, const Rois& wide);
    void take(std::int64_t count, std::int64_t first_frame, FoundSpots& found);
    void make();

    const gpu::Context context_;
    const gpu::Module detect_;
    FitKernels& kernels_;
    const LocalizeJob& job_;
    int frames_;
    gpu::Stream stream_;
    std::optional<GpuDetector> detector_;
    std::optional<FitOnGpu> fit_;
    gpu::Pinned<int> places_;
    gpu::Pinned<float> starts_, pixels_;
    gpu::Pinned<int> wide_places_;
    gpu::Pinned<float> wide_pixels_;
    FoundSpots part_;
    GpuTimes times_;
};

}  // namespace glint
