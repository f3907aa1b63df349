// Maximum-likelihood fits on a GPU: the kernel of glint/fit.hpp, one ROI a thread.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "glint/fit.hpp"
#include "glint/gpu/context.hpp"
#include "glint/roi_view.hpp"

namespace glint {

struct GpuFitOptions {
    int ordinal = -1;                                     ///< CUDA's number of the GPU; -1: the first that can be used
    std::uint64_t memory_bytes = std::uint64_t(1) << 30;  ///< most to take of it, beyond its context
    std::int64_t batch_size = 0;                          ///< ROIs sent at once; 0: as few as reach the link's speed
};

/// Holds a GPU's context, the kernels and some buffers from call to call; gives all of it back at its end. Use one from
/// one thread at a time.
class GpuFitter {
  public:
    /// Takes 0.2 s. Throws gpu::NoGpu (no GPU, or a glint built without CUDA), gpu::OutOfMemory, gpu::GpuError.
    explicit GpuFitter(const GpuFitOptions& options = {});
    ~GpuFitter();
    GpuFitter(GpuFitter&&) noexcept;

    /// Fits every ROI, as fit() does on the CPU: x, y and z agree within 1e-6 um, all parameters within 1e-3 CRLB, but
    /// where one more iteration was taken. Pixels are sent as they are and become photoelectrons on the GPU; uploads,
    /// kernels and downloads overlap. From gpu::Pinned memory it runs at the link's speed. Rows are final in order:
    /// `finished`, when given, is how many are, also when it throws. A lack of memory makes smaller batches before it
    /// throws gpu::OutOfMemory; else as fit(), and gpu::GpuError.
    void fit(const RoiView& rois, const Psf& psf, double pixel_size_um, const FitOptions& options, const FitsView& out,
             FitInfo* info = nullptr, std::int64_t* finished = nullptr);

    const gpu::Context& context() const;

    /// Runs the kernel alone, on ROIs that lie on the GPU already: seconds a call, the best of `repeats`.
    double kernel_seconds(const RoiView& rois, const Psf& psf, double pixel_size_um, const FitOptions& options,
                          int repeats);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Whether this glint has kernels for GPUs in it.
bool has_gpu_kernels();

}  // namespace glint
