// The stages of `glint bench localize`, each alone.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "glint/localize.hpp"

namespace glint::cli {

/// The rate of one stage when no other stage runs.
struct StageRate {
    std::string stage;
    double frames_per_s = 0;
    std::string by;  ///< "16 threads", "one stream"
};

/// Times reading and decoding; on the CPU detection, fits and selection; the journal; the final file.
std::vector<StageRate> cpu_stages(const std::filesystem::path& movie, const Camera& camera,
                                  const LocalizeOptions& options, const std::filesystem::path& folder);
/// Times the upload, the detection kernels and the fit kernel by the GPU's clock on one stream. Throws gpu::GpuError.
std::vector<StageRate> gpu_stages(const std::filesystem::path& movie, const Camera& camera,
                                  const LocalizeOptions& options);

}  // namespace glint::cli
