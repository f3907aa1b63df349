// The fit's GPU kernels: lookup and launch.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "fit/cuda/fit_launch.hpp"
#include "glint/gpu/buffer.hpp"
#include "glint/psf.hpp"

namespace glint {

/// A kernel with the block size that gives the highest occupancy.
struct FitVariant {
    gpu::Kernel kernel;
    unsigned threads = 0, shared_bytes = 0;  ///< per block
};

/// Which values are given per pixel, besides the counts.
struct PixelPlanes {
    bool noise = false, additive = false, qe = false;
    int count() const { return 1 + (noise || additive || qe) + additive + qe; }  ///< in shared memory
};

/// The kernels of one GPU, loaded on first use. Thread-safe.
class FitKernels {
  public:
    explicit FitKernels(const gpu::Context& context) : context_(context) {}
    FitVariant of(PsfModel model, int size, PixelPlanes planes);
    gpu::Kernel joint(PsfModel model);  ///< of joint fits

  private:
    gpu::Context context_;
    std::mutex mutex_;  // guards what follows
    std::map<PsfModel, gpu::Module> modules_;
    std::map<std::string, gpu::Kernel> kernels_;
};

/// Device addresses in the order of the kernel's parameters (fit_kernel.hpp); 0 where absent.
struct FitAddresses {
    std::uint64_t pixels, camera, corners, variance, additive, start, columns, bytes;
};
void launch_fit(const gpu::Stream& stream, const FitVariant& kernel, FitLaunch launch, FitAddresses addresses);

}  // namespace glint
