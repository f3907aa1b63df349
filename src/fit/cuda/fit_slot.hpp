// One batch on its way through the GPU: its stream and the memory it has on both sides.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fit/cuda/fit_kernels.hpp"
#include "fit/fit_setup.hpp"
#include "glint/gpu/buffer.hpp"

namespace glint {

/// Where the parts of a batch of n ROIs lie in its two device buffers; bytes.
struct BatchLayout {
    std::size_t pixels = 0, corners = 0, variance = 0, additive = 0, start = 0, up = 0;  ///< `up`: all of them
    std::size_t columns = 0, bytes = 0, down = 0;
    bool has_corners = false, has_variance = false, has_additive = false, has_qe = false;  ///< the last behind variance
};
BatchLayout layout_of(const RoiView& rois, const Starts& starts, int parameters, std::int64_t n);

/// A piece of memory that goes to or comes from the device.
struct Part {
    std::byte* data;
    std::size_t bytes, at;  ///< `at`: in the device buffer
    int gpu = -1;           ///< on which GPU `data` lie; -1: on the host
};

/// Times of one batch, on the device.
struct BatchTimes {
    double up = 0, kernel = 0, down = 0;  ///< s
};

class FitSlot {
  public:
    explicit FitSlot(const gpu::Context& context);

    /// Room for such a batch; keeps what is large enough. Throws gpu::OutOfMemory.
    void reserve(const BatchLayout& layout);
    /// Sends the parts, launches, and brings the results back, all in stream order: returns before it is done. Parts
    /// that are not page-locked, or are on another GPU, pass through memory of the slot's own.
    void run(const FitVariant& kernel, FitLaunch launch, const BatchLayout& layout,
             const gpu::Buffer<GpuCameraPixel>& maps, std::vector<Part> up, std::vector<Part> down);
    /// Waits for the results to lie where they belong. Throws what went wrong on the device.
    void finish();
    /// Waits, and leaves the results where they are: nothing of a failed call writes to the caller's memory later.
    void drop() noexcept;
    BatchTimes times() const;  ///< after finish()
    /// Only the kernel, on what the last run() left there; seconds.
    double kernel_seconds(const FitVariant& kernel, FitLaunch launch, const BatchLayout& layout,
                          const gpu::Buffer<GpuCameraPixel>& maps);

  private:
    void stage(const std::vector<Part>& parts);
    void send(const std::vector<Part>& direct, const std::vector<Part>& staged);
    void launch(const FitVariant& kernel, const FitLaunch& launch, const BatchLayout& layout,
                const gpu::Buffer<GpuCameraPixel>& maps);

    gpu::Stream stream_;
    gpu::Buffer<std::byte> up_, down_;
    gpu::Pinned<std::byte> staged_up_, staged_down_;
    std::array<gpu::Event, 4> marks_;  // before, sent, computed, back
    std::vector<Part> scatter_;        // from staged_down_ to the caller's memory
};

}  // namespace glint
