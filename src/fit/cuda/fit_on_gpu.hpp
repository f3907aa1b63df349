// Fits of ROIs that lie on the GPU already, as photoelectrons.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "fit/cuda/fit_kernels.hpp"
#include "glint/camera.hpp"
#include "glint/fit.hpp"

namespace glint {

/// Where n ROIs of a movie's frames lie: n * S * S pixels, n columns of x corners and of y corners, and as many start
/// positions.
struct RoisOnGpu {
    std::int64_t count;
    const gpu::Buffer<float>& pixels;
    const gpu::Buffer<int>& corners;
    const gpu::Buffer<float>& starts;
};

/// Stack after stack, in one stream; rows are those of GpuFitter::fit. Use one from one thread at a time.
class FitOnGpu {
  public:
    /// `camera`: what the noise is. It must outlive this.
    FitOnGpu(const gpu::Stream& stream, FitKernels& kernels, const CameraView& camera, int size, const Psf& psf,
             double pixel_size_um, const FitOptions& options);
    /// Fits them, in stream order; the results are on the host when the stream was waited for. Until then no other run.
    void run(const RoisOnGpu& rois);
    /// Adds the results of the last run to the end of `fits`.
    void append_to(Fits& fits) const;
    std::int64_t bytes_down() const;  ///< of the last run
    double seconds() const;           ///< of its kernel, after the stream was waited for

  private:
    std::size_t columns() const { return std::size_t(2 * parameter_count(model_) + 2); }

    gpu::Stream stream_;
    FitVariant kernel_;
    FitLaunch launch_;
    PsfModel model_;
    gpu::Buffer<GpuCameraPixel> noise_;  // where there is a map
    gpu::Buffer<std::byte> results_;
    gpu::Pinned<std::byte> here_;
    gpu::Event before_, after_;
};

}  // namespace glint
