// Examines the machine for the guide.
// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "gpu/doctor/doctor.hpp"
#include "gpu/doctor/guide.hpp"
#include "gpu/driver.hpp"
#include "gpu/nvml.hpp"
#include "gpu/process.hpp"

namespace glint::gpu::doctor {
namespace {

namespace fs = std::filesystem;

constexpr int oldest_cuda = 13000;

bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

/// WSL: the kernel version contains "microsoft", in any case.
bool is_wsl(const std::string& root) {
    std::string version = content_of(root + "/proc/version");
    std::transform(version.begin(), version.end(), version.begin(), [](unsigned char c) { return std::tolower(c); });
    return version.find("microsoft") != version.npos;
}

bool is_in_path(const std::string& program) {
    const char* path = std::getenv("PATH");
    std::istringstream folders(std::string(path ? path : "") + ":/usr/local/cuda/bin");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (!folder.empty() && is_there(fs::path(folder) / program)) return true;
    return false;
}

/// The library stays loaded, because it may have started threads.
bool can_be_loaded(const std::string& file) { return ::dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr; }

std::string processor() {
    utsname names{};
    return ::uname(&names) == 0 ? names.machine : "x86_64";
}

}  // namespace

Machine this_machine(bool kernels, const std::string& root) {
    Machine machine;
    machine.os_release = content_of(root + "/etc/os-release");
    if (machine.os_release.empty()) machine.os_release = content_of(root + "/usr/lib/os-release");
    machine.processor = processor();
    machine.wsl = is_wsl(root);
    machine.container = in_container(root);
    machine.nvidia_on_bus = nvidia_on_bus(root + "/sys/bus/pci/devices");
    machine.switched_off = why_disabled();
    machine.driver_fits = driver().version >= oldest_cuda;
    machine.why_no_driver = driver().why;
    machine.why_no_nvml = nvml().why;
    machine.device_files = is_there(root + "/dev/nvidiactl") && is_there(root + "/dev/nvidia-uvm");
    machine.kernels = kernels;
    machine.nvcc = is_in_path("nvcc");
    machine.has_library = can_be_loaded;
    return machine;
}

}  // namespace glint::gpu::doctor
