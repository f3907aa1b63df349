// One slot of the transfer pipeline: a stream, with device and staging memory for one batch.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fit/cuda/batch.hpp"
#include "fit/cuda/fit_kernels.hpp"
#include "glint/gpu/buffer.hpp"

namespace glint {

/// Device times of one batch, from events.
struct BatchTimes {
    double up = 0, kernel = 0, down = 0;  ///< s
};

/// Several slots with a stream each let uploads, kernels and downloads of different batches overlap.
class FitSlot {
  public:
    explicit FitSlot(const gpu::Context& context);

    /// Allocates device memory for such a batch, unless the present one suffices. Throws gpu::OutOfMemory.
    void reserve(const BatchLayout& layout);
    /// Enqueues uploads, kernel and downloads; returns before they are complete. Parts that are not page-locked, or are
    /// on another GPU, are staged through the slot's pinned memory.
    void run(const FitVariant& kernel, FitLaunch launch, const BatchLayout& layout,
             const gpu::Buffer<GpuCameraPixel>& maps, std::vector<Part> up, std::vector<Part> down);
    /// Waits until the results are in the caller's memory. Throws errors of the device.
    void finish();
    /// Waits and discards the results, so that nothing writes to the caller's memory after a failed call.
    void drop() noexcept;
    BatchTimes times() const;  ///< after finish()
    /// Time in seconds of the kernel alone, on the data of the last run().
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
    std::array<gpu::Event, 4> marks_;  // start, uploaded, computed, downloaded
    std::vector<Part> scatter_;        // from staged_down_ to the caller's memory
};

}  // namespace glint
