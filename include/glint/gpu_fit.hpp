// Maximum-likelihood fits on one leased GPU: the same kernel as glint/fit.hpp, one ROI per thread. Most programs should
// use Fitter of glint/fit.hpp, which retries, finds another GPU, or uses the CPU.
//
//     glint::GpuFitter fitter(glint::gpu::LeaseRequest{.timeout_s = 60});
//     glint::Fits fits;
//     fits.resize(psf.model, rois.count());
//     fitter.fit(glint::view(rois), psf, 100, {}, glint::view(fits));  // pixels of 100 nm
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

/// Keeps a GPU's lease, context, kernels and buffers from call to call, and releases them when destroyed. Throws all
/// errors of the GPU. Movable. Not thread-safe.
class GpuFitter {
  public:
    /// Uses the lease's first GPU; takes 0.2 s. `batch_size`: ROIs per upload; 0: the smallest number that saturates
    /// the link. Throws gpu::NoGpu (no GPU, or glint built without CUDA), gpu::OutOfMemory, gpu::GpuError.
    explicit GpuFitter(gpu::Lease lease, std::int64_t batch_size = 0);
    /// Waits for a lease first; also throws the exceptions of gpu::acquire().
    explicit GpuFitter(const gpu::LeaseRequest& request = {}, std::int64_t batch_size = 0);
    ~GpuFitter();
    GpuFitter(GpuFitter&&) noexcept;

    /// Fits every ROI, as fit() does on the CPU, and blocks until the results are in `out`. Results agree with the
    /// CPU's: x, y and z within 1e-6 um, all parameters within 1e-3 CRLB, unless rounding leads to one more iteration.
    ///
    /// Uploads counts unconverted and converts them on the GPU. Uploads, kernels and downloads of different batches
    /// overlap. From gpu::Pinned memory, the link limits the speed. Pixels on this GPU are copied on it; pixels on
    /// another GPU are staged through the host.
    ///
    /// Finishes rows in order. With `finished`, the call starts at row *finished and updates it, even if it throws. If
    /// memory runs out, makes batches smaller, and later larger again, before it throws gpu::OutOfMemory. Between
    /// batches, gives unused memory of the lease to processes that wait for this GPU.
    ///
    /// Throws as fit(), and gpu::GpuError.
    void fit(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options, const FitsView& out,
             FitInfo* info = nullptr, std::int64_t* finished = nullptr);
    /// Fits only the rows that `share` receives from a queue of several devices. Used by Fitter.
    void fit(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options, const FitsView& out,
             RowShare& share, FitInfo* info = nullptr);

    const gpu::Context& context() const;
    /// Returns the kernels, for other work on this GPU under the same lease (the movie pipeline).
    FitKernels& kernels();
    /// Publishes the lease's memory in use, and gives unused memory to waiting processes.
    void share();

    /// Measures the kernel alone, on ROIs in device memory. Returns the seconds per call, the best of `repeats`.
    double kernel_seconds(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options,
                          int repeats);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Returns whether glint was built with GPU kernels.
bool has_gpu_kernels();
/// Throws gpu::NoGpu, with the remedy, if glint was built without GPU kernels.
void require_gpu_kernels();

}  // namespace glint
