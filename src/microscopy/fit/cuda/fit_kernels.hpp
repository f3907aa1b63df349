// The fit's GPU kernels: lookup and launch.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "fit/cuda/fit_launch.hpp"
#include "glint/gpu/buffer.hpp"
#include "glint/psf.hpp"

namespace glint {

/// A PsfTable in the memory of a GPU. Thread-safe.
class TableOnGpu {
  public:
    /// Waits for the upload. Throws gpu::OutOfMemory.
    TableOnGpu(const gpu::Context& context, const PsfTable& table);
    /// Makes the numbers point to it, for kernels on that stream.
    void use(const gpu::Stream& stream, KernelPsf& numbers) const;

  private:
    mutable std::mutex mutex_;  // guards the buffer's list of streams
    gpu::Buffer<float> values_;
};

/// A kernel with the block size that gives the highest occupancy.
struct FitVariant {
    gpu::Kernel kernel;
    unsigned threads = 0, shared_bytes = 0;        ///< per block
    std::shared_ptr<const TableOnGpu> table = {};  ///< the table that it reads; null: none
};

/// Which values are given per pixel, in addition to the counts.
struct PixelPlanes {
    bool noise = false, additive = false, qe = false;
    int count() const { return 1 + (noise || additive || qe) + additive + qe; }  ///< in shared memory
};

/// The kernels of one GPU and their common data, loaded on first use. Thread-safe.
class FitKernels {
  public:
    explicit FitKernels(const gpu::Context& context) : context_(context) {}
    /// Throws gpu::OutOfMemory for the PSF's table.
    FitVariant of(const Psf& psf, int size, PixelPlanes planes);
    gpu::Kernel joint(PsfModel model);  ///< of joint fits
    /// Returns the PSF's table on this GPU, shared by all users; null if it has none. Throws gpu::OutOfMemory.
    std::shared_ptr<const TableOnGpu> table_of(const Psf& psf);

  private:
    gpu::Context context_;
    std::mutex mutex_;  // guards the members below
    std::map<PsfModel, gpu::Module> modules_;
    std::map<std::string, gpu::Kernel> kernels_;
    std::map<std::uint64_t, std::weak_ptr<const TableOnGpu>> tables_;  // by PsfTable::hash()
};

/// Device addresses in the order of the kernel's parameters (fit_kernel.hpp); 0 if absent.
struct FitAddresses {
    std::uint64_t pixels, camera, corners, variance, additive, start, columns, bytes;
};
void launch_fit(const gpu::Stream& stream, const FitVariant& kernel, FitLaunch launch, FitAddresses addresses);

}  // namespace glint
