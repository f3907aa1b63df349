// Maximum-likelihood fits on one leased GPU: the same kernel as glint/fit.hpp, one ROI per thread.
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

/// Owns a GPU's lease, context, kernels and buffers from call to call, and releases them when destroyed. Not
/// thread-safe. Errors of the GPU are thrown; Fitter (glint/fit.hpp) is the layer that retries, finds another GPU, or
/// uses the CPU.
class GpuFitter {
  public:
    /// Uses the lease's first GPU; takes 0.2 s. `batch_size`: ROIs per upload; 0: the smallest number that saturates
    /// the link. Throws gpu::NoGpu (no GPU, or glint built without CUDA), gpu::OutOfMemory, gpu::GpuError.
    explicit GpuFitter(gpu::Lease lease, std::int64_t batch_size = 0);
    /// Waits for a lease first; also throws the exceptions of gpu::acquire().
    explicit GpuFitter(const gpu::LeaseRequest& request = {}, std::int64_t batch_size = 0);
    ~GpuFitter();
    GpuFitter(GpuFitter&&) noexcept;

    /// Fits every ROI, as fit() does on the CPU: x, y and z agree within 1e-6 um, all parameters within 1e-3 CRLB,
    /// except where rounding leads to one more iteration. Blocks until the results are in `out`.
    ///
    /// Counts are uploaded unconverted and converted on the GPU; uploads, kernels and downloads of different batches
    /// overlap. From gpu::Pinned memory the link is the limit. Pixels on this GPU are copied on it; those on another
    /// GPU are staged through the host. Rows are finished in order: with `finished`, the call starts at row *finished
    /// and updates it, also when it throws. When memory runs out, batches are made smaller (and later larger again)
    /// before gpu::OutOfMemory is thrown. Between batches, memory of the lease that is not needed is given to processes
    /// that wait for this GPU. Throws as fit(), and gpu::GpuError.
    void fit(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options, const FitsView& out,
             FitInfo* info = nullptr, std::int64_t* finished = nullptr);
    /// The same for the rows that `share` takes from a queue that other devices use, too (Fitter, for several GPUs).
    void fit(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options, const FitsView& out,
             RowShare& share, FitInfo* info = nullptr);

    const gpu::Context& context() const;
    /// The kernels, for other work on this GPU under the same lease (the movie pipeline).
    FitKernels& kernels();
    /// Publishes the lease's memory in use, and gives unused memory to waiting processes.
    void share();

    /// Benchmark of the kernel alone, on ROIs in device memory: seconds per call, the best of `repeats`.
    double kernel_seconds(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options,
                          int repeats);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Whether glint was built with GPU kernels.
bool has_gpu_kernels();
/// Throws gpu::NoGpu, with the remedy, if it was not.
void require_gpu_kernels();

}  // namespace glint
