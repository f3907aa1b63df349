// Maximum-likelihood fits on a GPU: the kernel of glint/fit.hpp, one ROI a thread.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "glint/fit.hpp"
#include "glint/gpu/context.hpp"
#include "glint/gpu/lease.hpp"
#include "glint/roi_view.hpp"

namespace glint {

class FitKernels;
class RowShare;

/// Holds a lease of a GPU, its context, the kernels and some buffers from call to call; gives all of it back at its
/// end. Use one from one thread at a time. What goes wrong on the GPU it throws: Fitter (glint/fit.hpp) tries again,
/// finds another GPU, or takes the CPU.
class GpuFitter {
  public:
    /// On the lease's first GPU. Takes 0.2 s. `batch_size`: ROIs sent at once; 0: as few as reach the link's speed.
    /// Throws gpu::NoGpu (no GPU, or a glint built without CUDA), gpu::OutOfMemory, gpu::GpuError.
    explicit GpuFitter(gpu::Lease lease, std::int64_t batch_size = 0);
    /// Waits for a lease first; throws what gpu::acquire() does.
    explicit GpuFitter(const gpu::LeaseRequest& request = {}, std::int64_t batch_size = 0);
    ~GpuFitter();
    GpuFitter(GpuFitter&&) noexcept;

    /// Fits every ROI, as fit() does on the CPU: x, y and z agree within 1e-6 um, all parameters within 1e-3 CRLB, but
    /// where one more iteration was taken. Pixels are sent as they are and become photoelectrons on the GPU; uploads,
    /// kernels and downloads overlap. From gpu::Pinned memory it runs at the link's speed; pixels on this GPU are
    /// copied within it, those on another one pass through the host. Rows are final in order: from `finished`, when
    /// given, it goes on, and there it says how many are, also when it throws. A lack of memory makes smaller batches,
    /// and later larger ones again, before it throws gpu::OutOfMemory. Between batches others who wait for this GPU get
    /// what of the lease is not needed. Else as fit(), and gpu::GpuError.
    void fit(const RoiView& rois, const Psf& psf, double pixel_size_um, const FitOptions& options, const FitsView& out,
             FitInfo* info = nullptr, std::int64_t* finished = nullptr);
    /// The same for the rows that `share` gets out of a queue that others draw from too (Fitter, for several GPUs).
    void fit(const RoiView& rois, const Psf& psf, double pixel_size_um, const FitOptions& options, const FitsView& out,
             RowShare& share, FitInfo* info = nullptr);

    const gpu::Context& context() const;
    /// For others who work on this GPU under the same lease (the movie pipeline).
    FitKernels& kernels();
    /// Lets other processes see what of the lease is taken, and gives those who wait what is not needed.
    void share();

    /// Runs the kernel alone, on ROIs that lie on the GPU already: seconds a call, the best of `repeats`.
    double kernel_seconds(const RoiView& rois, const Psf& psf, double pixel_size_um, const FitOptions& options,
                          int repeats);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Whether this glint has kernels for GPUs in it.
bool has_gpu_kernels();
/// Throws gpu::NoGpu where it has not, with the remedy.
void require_gpu_kernels();

}  // namespace glint
