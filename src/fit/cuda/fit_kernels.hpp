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

/// What of each pixel differs from that of the others.
struct PixelPlanes {
    bool noise = false, additive = false, qe = false;
    int count() const { return 1 + (noise || additive || qe) + additive + qe; }  ///< in shared memory
};

class FitKernels {
  public:
    explicit FitKernels(const gpu::Context& context) : context_(context) {}
    FitVariant of(PsfModel model, int size, PixelPlanes planes);

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
