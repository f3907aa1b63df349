// Shared by the parts of `glint bench fit`: rows of the CPU, rows of the GPU, and one stack on several GPUs.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/console.hpp"
#include "cli/flags/backend_flags.hpp"
#include "glint/camera.hpp"
#include "glint/fit.hpp"
#include "glint/gpu/buffer.hpp"
#include "glint/gpu_fit.hpp"
#include "glint/psf.hpp"
#include "glint/simulate.hpp"

namespace glint::cli {

constexpr double bench_pixel_nm = 100;

struct BenchFitFlags {
    std::vector<std::string> models;  ///< all models, unless given
    std::vector<std::string> cameras{"ideal", "sCMOS", "EMCCD"};
    std::vector<int> sizes{7, 11, 15};
    std::string camera_file;
    std::size_t count = 100000, gpu_bytes = std::size_t(1) << 30, gpus_bytes = 19'600'000'000;
    int threads = 0, repeats = 3;
    double background = 10;
    BackendFlags backend;
    ConsoleFlags console;
};

struct Conditions {
    PsfModel model;
    std::string camera_name;
    Camera camera;
    int size;
};

Psf bench_psf(PsfModel model);
RoiSimulation bench_spots(const Conditions& c, const BenchFitFlags& flags);

using Truth = std::array<std::vector<float>, max_parameters>;

struct Accuracy {
    nlohmann::ordered_json std_over_crlb, bias_over_crlb;
    std::size_t outliers = 0;
};

/// Returns errors in units of the CRLB at the true parameters. A fit that starts at the truth and stops immediately
/// provides the CRLB.
Accuracy accuracy(const Rois& rois, const Psf& psf, const Fits& fits, const Truth& truth);

class GpuBench {
  public:
    /// Throws gpu::GpuError if there is no GPU.
    explicit GpuBench(const BenchFitFlags& flags);

    /// Returns one row of the table. `cpu` is the CPU's row under the same conditions.
    nlohmann::ordered_json measure(const Conditions& c, PixelType type, const nlohmann::ordered_json& cpu);

  private:
    const BenchFitFlags& flags_;
    std::chrono::steady_clock::time_point opened_;
    GpuFitter fitter_;
    double open_s_;  ///< seconds to open the GPU
    gpu::Pinned<std::byte> pixels_;
};

/// Prints a row for 1, 2, 4, ... and all free GPUs, at most as many as --gpus. Throws gpu::GpuError, and OptionError if
/// the stack does not fit into the host's memory.
int bench_fit_gpus(const BenchFitFlags& flags);

}  // namespace glint::cli
