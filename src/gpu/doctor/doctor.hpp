// Looks for what may be wrong with this machine's GPUs and with the way they are shared. Nothing is put on any GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "glint/gpu/device.hpp"
#include "glint/gpu/lease.hpp"

namespace glint::gpu::doctor {

enum class Health {
    ok,
    warning,  ///< works, but not as well as it could, or will not for long
    problem,  ///< a GPU cannot be used, or not be shared
};

/// What one check found.
struct Finding {
    Health health = Health::ok;
    std::string check;   ///< "driver", "ecc"
    std::string gpu;     ///< the UUID; empty: of the whole machine
    std::string found;   ///< one line
    std::string remedy;  ///< one line; empty where there is nothing to do
};
using Findings = std::vector<Finding>;

/// All checks below. `other_variables`: names beginning with GLINT_ that other layers read.
Findings examine(const std::vector<std::string>& other_variables);

/// The driver, NVML, and the device files in `dev_folder`.
Findings check_driver(const std::string& dev_folder = "/dev");
/// Each GPU: whether it can be used, its modes and its health.
Findings check_gpus(const Inventory& inventory);
/// Memory held by processes that cannot give it back: zombies, the stopped, those nobody sees.
Findings check_processes(const Inventory& inventory, const LeaseSnapshot& leases);
/// The directory of leases; makes nothing.
Findings check_directory(const std::string& path);
/// The leases in it.
Findings check_leases(const LeaseSnapshot& leases);
/// The variables GLINT_* and CUDA's.
Findings check_variables(const Inventory& inventory, const std::vector<std::string>& other_variables);

/// By the marks that container programs leave below `root`, by the process namespace, by the variable `container`.
bool in_container(const std::string& root = "");
/// Why what lies at `path` is seen by this container alone, judged by the text of /proc/self/mountinfo; empty: it is
/// not.
std::string why_private(const std::string& mountinfo, const std::string& path);

}  // namespace glint::gpu::doctor
