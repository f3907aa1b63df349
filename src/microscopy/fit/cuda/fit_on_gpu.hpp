// Fits of ROIs in device memory, in photoelectrons, as detection cuts them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "fit/cuda/fit_kernels.hpp"
#include "glint/camera.hpp"
#include "glint/fit.hpp"

namespace glint {

/// n ROIs in device memory: n * S * S pixels; n x corners, then n y corners; n x start positions, then n y start
/// positions. Borrowed.
struct RoisOnGpu {
    std::int64_t count;
    const gpu::Buffer<float>& pixels;
    const gpu::Buffer<int>& corners;
    const gpu::Buffer<float>& starts;
};

/// Fits stacks one after another on one stream, with the same results as GpuFitter::fit. Not thread-safe.
class FitOnGpu {
  public:
    /// `camera` provides the noise and must outlive this object.
    FitOnGpu(const gpu::Stream& stream, FitKernels& kernels, const CameraView& camera, int size, const Psf& psf,
             double pixel_size_nm, const FitSettings& settings);
    /// Enqueues the fits and the download. Results are on the host once the stream has been synchronised. Do not call
    /// it again before.
    void run(const RoisOnGpu& rois);
    /// Appends the results of the last run to `fits`.
    void append_to(Fits& fits) const;
    std::int64_t bytes_down() const;  ///< of the last run
    double seconds() const;           ///< time of the last run's kernel; the stream must have been synchronised

  private:
    std::size_t columns() const { return std::size_t(2 * parameter_count(model_) + 2); }

    gpu::Stream stream_;
    FitVariant kernel_;
    FitLaunch launch_;
    PsfModel model_;
    gpu::Buffer<GpuCameraPixel> noise_;  // empty without maps
    gpu::Buffer<std::byte> results_;
    gpu::Pinned<std::byte> here_;
    gpu::Event before_, after_;
};

}  // namespace glint
