// What GPUs there are, and why one cannot be used.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace glint::gpu {

struct DeviceProcess {
    unsigned pid = 0;
    std::uint64_t used_bytes = 0;
};

/// One GPU, or one MIG instance, as NVML and the CUDA driver describe it; they are matched by UUID, because CUDA's
/// order and number of devices depend on CUDA_VISIBLE_DEVICES and NVML's do not.
struct Device {
    int ordinal = -1;                                ///< CUDA's number in this process; -1: not visible to it
    std::string name, uuid, pci_bus;                 ///< uuid as nvidia-smi prints it: "GPU-..." or "MIG-..."
    bool mig = false;                                ///< a MIG instance
    int instances = 0;                               ///< of a GPU that is split into MIG instances
    std::uint64_t total_bytes = 0, free_bytes = 0;   ///< free: 0 without NVML, which alone knows it
    int utilization_percent = -1;                    ///< -1: unknown
    int capability_major = 0, capability_minor = 0;  ///< compute capability
    int pcie_generation = 0, pcie_width = 0;         ///< of the link now; 0: unknown
    std::string compute_mode;                        ///< "default", "exclusive-process", "prohibited"
    std::vector<DeviceProcess> processes;            ///< those that NVML shows to us
    std::string why_not;                             ///< empty: it can be used
    bool occupied = false;                           ///< why_not is a process that has it to itself, and will end
};

struct Inventory {
    std::string driver_version;   ///< "580.65.06"; empty: no driver
    int cuda_version = 0;         ///< what the driver supports, 1000 * major + 10 * minor
    std::vector<Device> devices;  ///< in NVML's order
    std::string why_no_nvml;      ///< why there is a driver without NVML: memory, load and processes are not known
    std::string why_none;         ///< why none can be used, with the remedy; empty when one can
};

/// Looks anew at every call; some 20 ms at the first, 0.1 ms later. Creates no context. Never throws for lack of a GPU.
Inventory inventory();

}  // namespace glint::gpu
