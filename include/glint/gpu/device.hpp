// The inventory of GPUs, from NVML and the CUDA driver, with the reasons why a GPU cannot be used.
//
//     const glint::gpu::Inventory found = glint::gpu::inventory();
//     for (const glint::gpu::Device& gpu : found.devices)
//         std::printf("%s: %s\n", gpu.name.c_str(), gpu.why_not.empty() ? "usable" : gpu.why_not.c_str());
//     if (found.devices.empty()) std::puts(found.why_none.c_str());
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace glint::gpu {

/// A process with a context on a GPU.
struct DeviceProcess {
    unsigned pid = 0;
    std::uint64_t used_bytes = 0;  ///< of the GPU's memory; 0: unknown
};

/// One GPU or MIG instance. Data of NVML and of the CUDA driver are matched by UUID: CUDA_VISIBLE_DEVICES changes the
/// order and number of CUDA's devices, but not of NVML's.
struct Device {
    int ordinal = -1;                                ///< CUDA's number in this process; -1: not visible to it
    std::string name, uuid, pci_bus;                 ///< uuid as nvidia-smi prints it: "GPU-..." or "MIG-..."
    bool mig = false;                                ///< a MIG instance
    int instances = 0;                               ///< number of MIG instances that the GPU is split into
    std::uint64_t total_bytes = 0, free_bytes = 0;   ///< free: from NVML; 0 without it
    int utilization_percent = -1;                    ///< -1: unknown
    int capability_major = 0, capability_minor = 0;  ///< compute capability
    int pcie_generation = 0, pcie_width = 0;         ///< current state of the link; 0: unknown
    std::string compute_mode;                        ///< "default", "exclusive-process", "prohibited"
    std::vector<DeviceProcess> processes;            ///< as listed by NVML, which hides those of other containers
    std::string why_not;                             ///< why this process cannot use it, with the remedy; empty: it can
    bool occupied = false;                           ///< the reason is a process in exclusive mode, so waiting helps
};

/// All GPUs of the machine, and the state of the driver.
struct Inventory {
    std::string driver_version;   ///< "580.65.06"; empty: no driver
    int cuda_version = 0;         ///< supported by the driver, 1000 * major + 10 * minor
    std::vector<Device> devices;  ///< in NVML's order
    /// Why NVML is missing although there is a driver. Memory, load and processes are then unknown.
    std::string why_no_nvml;
    std::string why_none;  ///< why no GPU can be used, with the remedy; empty if one can
    /// Returns whether a GPU can be used now, or after the end of a process that occupies it.
    bool worth_waiting() const {
        return why_none.empty() ||
               std::any_of(devices.begin(), devices.end(), [](const Device& device) { return device.occupied; });
    }
};

/// Returns all GPUs and the state of the driver. Queries the driver and NVML at every call: about 20 ms for the first,
/// 0.1 ms later. Creates no context. Does not throw for lack of a GPU or driver.
Inventory inventory();

}  // namespace glint::gpu
