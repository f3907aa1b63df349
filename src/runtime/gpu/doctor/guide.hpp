// The installation guide: which parts are missing on this machine, and how to install them on this distribution.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace glint::gpu::doctor {

/// The properties of a machine that the guide depends on; tests supply their own.
struct Machine {
    std::string os_release;  ///< the content of /etc/os-release
    std::string processor = "x86_64";
    bool wsl = false, container = false;
    bool nvidia_on_bus = false;        ///< there is an NVIDIA device on the PCI bus
    std::string switched_off;          ///< by GLINT_GPU_ENABLED
    bool driver_fits = false;          ///< libcuda.so.1 exists and is new enough
    std::string why_no_driver;         ///< why the driver cannot be used; empty: usable
    std::string why_no_nvml;           ///< why NVML cannot be used; empty: usable
    bool device_files = false;         ///< /dev/nvidiactl and /dev/nvidia-uvm
    bool kernels = true, nvcc = true;  ///< built into this glint; to build them
    std::function<bool(const std::string& file)> has_library = [](const std::string&) { return true; };
};

/// Examines this machine; reads files below `root`. Loads libraries, but allocates nothing on any GPU.
Machine this_machine(bool kernels, const std::string& root = "");

struct Missing {
    std::string part;              ///< "driver", "cublas"
    std::string why;               ///< its purpose, or the problem found
    std::vector<std::string> how;  ///< lines: commands, and comments "# ..."
};
/// The missing parts, in the order of installation; empty: nothing is missing.
std::vector<Missing> missing_parts(const Machine& machine);

/// "Ubuntu 24.04.1 LTS, in a container"
std::string system_name(const Machine& machine);
/// The whole guide as text.
std::string installation_guide(const Machine& machine);

/// The subjects of installation commands.
enum class Part { driver, nvml, device_files, nvcc, cublas, cufft, cusolver, openblas, fftw };
enum class System { any, debian, ubuntu, fedora, rhel, suse, arch, wsl, container };

/// The commands for a part on a system. `any` is the fallback for systems without an entry.
struct HowTo {
    Part part;
    System system;
    const char* lines;
};
const char* how_to(Part part, System system);

/// Commands that add NVIDIA's repository, with placeholders {repository} (URL) and {name} (file name); null: none.
const char* repository_lines(System system);

}  // namespace glint::gpu::doctor
