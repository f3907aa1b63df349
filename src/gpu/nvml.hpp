// NVML, the library behind nvidia-smi, as a table of functions. It needs no context on a GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "glint/gpu/device.hpp"
#include "gpu/cuda_abi.hpp"

namespace glint::gpu {

constexpr int nvml_success = 0, nvml_insufficient_size = 7;

struct Nvml {
#define X(name, required, parameters) int(*name) parameters = nullptr;
#include "gpu/nvml_list.inc"
#undef X
    std::string why;  // why it cannot be used; empty when it can
};

/// NVML, loaded and initialized at the first call (14 ms). Never throws.
const Nvml& nvml();

/// The processes with a context on a device: an empty list where NVML hides them (in a container), nullopt where the
/// query fails. Their memory is 0 where NVML does not know it.
std::optional<std::vector<DeviceProcess>> compute_processes(const Nvml& table, cu::NvmlDevice device);

}  // namespace glint::gpu
