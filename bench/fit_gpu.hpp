// The GPU's rows of `glint bench fit`.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

#include "bench/fit.hpp"
#include "glint/gpu/buffer.hpp"
#include "glint/gpu_fit.hpp"

namespace glint::cli {

class GpuBench {
  public:
    /// Throws gpu::GpuError where there is no GPU.
    explicit GpuBench(const BenchFitFlags& flags);

    /// One row; `cpu` is the CPU's under the same conditions.
    nlohmann::ordered_json measure(const Conditions& c, PixelType type, const nlohmann::ordered_json& cpu);

  private:
    const BenchFitFlags& flags_;
    std::chrono::steady_clock::time_point opened_;
    GpuFitter fitter_;
    double open_s_;  ///< to take the GPU
    gpu::Pinned<std::byte> pixels_;
};

}  // namespace glint::cli
