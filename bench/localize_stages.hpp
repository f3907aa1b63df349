// The stages of `glint bench localize`, each alone.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "glint/localize.hpp"

namespace glint::cli {

/// What one stage reaches when nothing else runs.
struct StageRate {
    std::string stage;
    double frames_per_s = 0;
    std::string by;  ///< "16 threads", "one stream"
};

/// Reading and decoding; then, of the CPU: finding, fitting, selecting; the journal; the final file.
std::vector<StageRate> cpu_stages(const std::filesystem::path& movie, const Camera& camera,
                                  const LocalizeOptions& options, const std::filesystem::path& folder);
/// Upload, detection kernels, fit kernel, timed by the GPU's clock on one stream. Throws gpu::GpuError.
std::vector<StageRate> gpu_stages(const std::filesystem::path& movie, const Camera& camera,
                                  const LocalizeOptions& options);

}  // namespace glint::cli
