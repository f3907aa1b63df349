// Detects MPS by its pipe directory and by the name of its server process.
// SPDX-License-Identifier: MIT
#include "gpu/mps.hpp"

#include <sys/stat.h>

#include <cstdlib>

#include "gpu/process.hpp"

namespace glint::gpu {

/// The server creates its pipe directory where clients look for it.
bool mps_may_run() {
    const char* folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
    struct stat status {};
    return ::stat(folder && *folder ? folder : "/tmp/nvidia-mps", &status) == 0;
}

bool is_mps_server(unsigned pid) {
    const auto info = process_info(pid);
    return info && info->name.starts_with("nvidia-cuda-mps");  // the kernel truncates names to 15 characters
}

}  // namespace glint::gpu
