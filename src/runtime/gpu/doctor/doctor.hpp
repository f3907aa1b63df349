// Diagnoses problems with the GPUs of this machine and with sharing them. Allocates nothing on any GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "glint/gpu/device.hpp"
#include "glint/gpu/diagnose.hpp"
#include "glint/gpu/lease.hpp"

namespace glint::gpu::doctor {

using gpu::Finding;
using gpu::Health;
using Findings = std::vector<Finding>;

/// Runs all checks below. `other_variables`: names with the prefix GLINT_ that other layers read.
Findings examine(const std::vector<std::string>& other_variables);

/// Whether the PCI bus, device files or the driver indicate an NVIDIA GPU in this machine, usable or not.
bool machine_has_gpu(const std::string& dev_folder = "/dev", const std::string& pci_folder = "/sys/bus/pci/devices");

/// Checks the driver, NVML, and the device files in `dev_folder`. On a machine without a GPU nothing is wrong with
/// them.
Findings check_driver(const std::string& dev_folder = "/dev", const std::string& pci_folder = "/sys/bus/pci/devices");
/// Checks each GPU: whether it can be used, its modes and its health.
Findings check_gpus(const Inventory& inventory);
/// Checks for memory held by processes that do not run (zombies, stopped processes) or that NVML does not list.
Findings check_processes(const Inventory& inventory, const LeaseSnapshot& leases);
/// Checks the lease directory; does not create it.
Findings check_directory(const std::string& path);
/// Checks the leases in the directory.
Findings check_leases(const LeaseSnapshot& leases);
/// Checks the variables GLINT_* and CUDA's.
Findings check_variables(const Inventory& inventory, const std::vector<std::string>& other_variables);

/// Whether there is an NVIDIA device on the PCI bus.
bool nvidia_on_bus(const std::string& pci_folder);

/// Whether this process runs in a container: by marker files below `root`, the pid namespace, the variable `container`.
bool in_container(const std::string& root = "");
/// Returns why `path` is private to this container, from the text of /proc/self/mountinfo; empty: it is not private.
std::string why_private(const std::string& mountinfo, const std::string& path);

}  // namespace glint::gpu::doctor
