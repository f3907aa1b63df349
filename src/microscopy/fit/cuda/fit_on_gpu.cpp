// Launches the fit on ROIs in device memory and collects the results.
//
// Runs the same kernels as GpuFitter on pixels that detection has left on the device. Nothing is uploaded per call, and
// the results come back in one transfer. Everything is enqueued on the caller's stream, whose synchronisation is the
// only wait.
// SPDX-License-Identifier: MIT
#include "fit/cuda/fit_on_gpu.hpp"

#include <vector>

#include "fit/cuda/stream_work.hpp"
#include "fit/fit_setup.hpp"

namespace glint {
namespace {

/// Uploads the camera's noise maps, with the identity as conversion: the pixels are photoelectrons already. The vector
/// may be freed immediately, since an upload from pageable memory returns when it has been read.
gpu::Buffer<GpuCameraPixel> upload_noise(const gpu::Stream& stream, const CameraView& camera) {
    std::vector<GpuCameraPixel> pixels;
    for (std::size_t k = 0; k < camera.variance_map().size(); ++k)
        pixels.push_back({0, 1, camera.pixel(k).variance_e2, camera.pixel(k).qe});
    if (pixels.empty()) return {};
    gpu::Buffer<GpuCameraPixel> buffer(stream, pixels.size());
    gpu::upload(stream, buffer, pixels);
    return buffer;
}

/// Converts through an empty RoiView, so that scalars of the noise are converted in one place (kernel_options) for all
/// fits.
KernelOptions options_of(const CameraView& camera, int size, const FitSettings& settings) {
    RoiView rois;
    rois.size = size;
    rois.variance_scalar = camera.variance_scalar(), rois.qe_scalar = camera.qe_scalar();
    rois.excess_noise = camera.excess_noise();
    return kernel_options(rois, settings);
}

}  // namespace

FitOnGpu::FitOnGpu(const gpu::Stream& stream, FitKernels& kernels, const CameraView& camera, int size, const Psf& psf,
                   double pixel_size_nm, const FitSettings& settings)
    : stream_(stream),
      kernel_(kernels.of(psf, size, {.noise = !camera.variance_map().empty(), .qe = !camera.qe_map().empty()})),
      launch_{kernel_psf(psf, pixel_size_nm, settings, size),
              options_of(camera, size, settings),
              GpuPixel::f32,
              0,
              1,
              camera.width(),
              camera.height(),
              2,
              0},
      model_(psf.model),
      noise_(upload_noise(stream, camera)),
      before_(stream.context(), true),
      after_(stream.context(), true) {}

// The time between the events around the kernel, without the download.
double FitOnGpu::seconds() const { return after_.milliseconds_since(before_) / 1000.0; }

std::int64_t FitOnGpu::bytes_down() const { return std::int64_t(launch_.count * (columns() * sizeof(float) + 2)); }

// read_on() orders the kernel after the
// kernels that wrote the ROIs, also if those ran on another stream.
void FitOnGpu::run(const RoisOnGpu& rois) {
    // Also set for 0 ROIs: append_to() and bytes_down() use it.
    launch_.count = unsigned(rois.count);
    if (rois.count == 0) return;
    const std::size_t bytes = std::size_t(bytes_down()), n = launch_.count;
    grow(results_, bytes, stream_), grow(here_, bytes, stream_.context());
    const std::uint64_t to = results_.write_on(stream_);
    before_.record(stream_);
    launch_fit(stream_, kernel_, launch_,
               {rois.pixels.read_on(stream_), noise_ ? noise_.read_on(stream_) : 0, rois.corners.read_on(stream_), 0, 0,
                rois.starts.read_on(stream_), to, to + columns() * n * sizeof(float)});
    after_.record(stream_);
    // Asynchronous, because the target is page-locked memory.
    gpu::download(stream_, {here_.data(), bytes}, results_);
}

// The order of the columns is that in which FitKernel::compute writes them. No status can be gpu_outside_maps:
// detection shifts every ROI into the frame, which is as large as the maps.
void FitOnGpu::append_to(Fits& fits) const {
    const std::size_t n = launch_.count;
    if (n == 0) return;
    fits.model = model_;
    const float* column = reinterpret_cast<const float*>(here_.data());
    const auto append = [&](std::vector<float>& to) { to.insert(to.end(), column, column + n), column += n; };
    for (int k = 0; k < parameter_count(model_); ++k) append(fits.theta[std::size_t(k)]);
    for (int k = 0; k < parameter_count(model_); ++k) append(fits.crlb[std::size_t(k)]);
    append(fits.log_likelihood_ratio);
    append(fits.p_value);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(column);
    fits.iterations.insert(fits.iterations.end(), bytes, bytes + n);
    for (std::size_t k = 0; k < n; ++k) fits.status.push_back(FitStatus(bytes[n + k]));
}

}  // namespace glint
