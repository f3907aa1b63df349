// Knows MPS by its pipe and by its server's name.
// SPDX-License-Identifier: MIT
#include "gpu/mps.hpp"

#include <sys/stat.h>

#include <cstdlib>

#include "gpu/process.hpp"

namespace glint::gpu {

/// It leaves its pipe where a client looks for it.
bool mps_may_run() {
    const char* folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
    struct stat status {};
    return ::stat(folder && *folder ? folder : "/tmp/nvidia-mps", &status) == 0;
}

bool is_mps_server(unsigned pid) {
    const auto info = process_info(pid);
    return info && info->name.starts_with("nvidia-cuda-mps");  // the kernel keeps 15 letters
}

}  // namespace glint::gpu
