// Joint fits of many groups on a GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "fit/cuda/fit_kernels.hpp"
#include "fit/cuda/joint_launch.hpp"
#include "fit/joint/windows.hpp"

namespace glint {

/// Fits groups on its own stream, with the results of JointFitter::find except for rounding. Owns its memory, which the
/// first call allocates. Not thread-safe.
class JointOnGpu {
  public:
    /// `bytes`: maximum device memory. A group that needs more is fitted on the CPU.
    JointOnGpu(const gpu::Context& context, FitKernels& kernels, const Psf& psf, double pixel_size_nm,
               const JointOptions& options, std::size_t bytes);
    ~JointOnGpu();  ///< waits for work in progress

    /// Cuts and fits groups with windows of the same Rois. Returns when all are fitted. Fits fewer simultaneously if
    /// GPU memory is short. Throws gpu::OutOfMemory if one group does not fit, and other gpu::GpuError. After an
    /// exception, each group is either finished or unchanged.
    void find(std::span<const JointCut> groups);
    void free();                                             ///< frees its device memory until the next call
    double seconds() const { return seconds_; }              ///< of all its kernels so far
    std::int64_t bytes_up() const { return bytes_up_; }      ///< so far
    std::int64_t bytes_down() const { return bytes_down_; }  ///< so far

  private:
    std::size_t floats_of_team(const JointCut& group) const;
    std::size_t num_bytes(const JointCut& group) const;
    std::size_t as_many_as_fit(std::span<const JointCut> groups, std::size_t bytes) const;
    void find_on_cpu(const JointCut& group);
    void find_at_once(std::span<const JointCut> groups, std::size_t bytes);

    gpu::Stream stream_;
    gpu::Kernel kernel_;
    std::shared_ptr<const TableOnGpu> table_;  // null: the PSF has none
    JointSetup setup_;
    JointFitter cpu_;
    const std::size_t bytes_;
    gpu::Pinned<JointPlace> places_here_;
    gpu::Pinned<float> given_here_;
    gpu::Pinned<JointResult> results_here_;
    gpu::Buffer<JointPlace> places_;
    gpu::Buffer<float> given_, space_;
    gpu::Buffer<JointResult> results_;
    gpu::Event before_, after_;
    double seconds_ = 0;
    std::int64_t bytes_up_ = 0, bytes_down_ = 0;
};

}  // namespace glint
