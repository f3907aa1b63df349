// The fit's kernels on a GPU, and how one is launched.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "fit/cuda/fit_launch.hpp"
#include "glint/gpu/buffer.hpp"
#include "glint/psf.hpp"

namespace glint {

/// A kernel, with as many threads in a block as let most of them be on a multiprocessor.
struct FitVariant {
    gpu::Kernel kernel;
    unsigned threads = 0, shared_bytes = 0;  ///< of a block
};

class FitKernels {
  public:
    explicit FitKernels(const gpu::Context& context) : context_(context) {}
    /// `planes`: of pixels in shared memory; 1 where all have the same noise, 2 where each has its own, 3 with known
    /// additive signals.
    FitVariant of(PsfModel model, int size, int planes);

  private:
    gpu::Context context_;
    std::map<PsfModel, gpu::Module> modules_;
    std::map<std::string, gpu::Kernel> kernels_;
};

/// Addresses on the GPU, as the parameters of fit_kernel.hpp; 0 where absent.
struct FitAddresses {
    std::uint64_t pixels, camera, corners, variance, additive, start, columns, bytes;
};
void launch_fit(const gpu::Stream& stream, const FitVariant& kernel, FitLaunch launch, FitAddresses addresses);

}  // namespace glint
