// NVML, the library behind nvidia-smi, as a table of functions. It needs no context on a GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "glint/gpu/device.hpp"
#include "gpu/cuda_abi.hpp"

namespace glint::gpu {

constexpr int nvml_success = 0, nvml_not_supported = 3, nvml_no_permission = 4, nvml_not_found = 6,
              nvml_insufficient_size = 7, nvml_function_not_found = 13, nvml_gpu_is_lost = 15;
constexpr const char* gpu_is_lost =
    "NVML has lost it: it has fallen off the bus or hangs; the kernel's log (dmesg, \"Xid\") shows when, a reboot may "
    "help";

struct Nvml {
#define X(name, required, parameters) int(*name) parameters = nullptr;
#include "gpu/nvml_list.inc"
#undef X
    std::string why;  // why NVML cannot be used; empty: usable
};

/// Returns NVML, loaded and initialized at the first call (14 ms). Never throws.
const Nvml& nvml();

/// Returns the processes with a context on a device: an empty list if NVML hides them (in a container), nullopt if the
/// query fails. Their memory is 0 if NVML does not report it.
std::optional<std::vector<DeviceProcess>> compute_processes(const Nvml& table, cu::NvmlDevice device);

/// Returns the utilization of the device by each process in the last seconds, in percent by pid. Processes that
/// computed nothing are missing. nullopt if NVML does not report it (MIG, a container).
std::optional<std::map<unsigned, int>> utilization_by_process(const Nvml& table, cu::NvmlDevice device);

}  // namespace glint::gpu
