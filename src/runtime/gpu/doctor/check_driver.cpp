// Checks the driver, NVML, and the device files that both need.
// SPDX-License-Identifier: MIT
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "gpu/doctor/doctor.hpp"
#include "gpu/driver.hpp"
#include "gpu/lease/descriptor.hpp"
#include "gpu/nvml.hpp"
#include "gpu/process.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::doctor {
namespace {

constexpr const char* enable_peer_access =
    "give this user access: the files' group, a udev rule, or in a container --gpus all (--device)";

Finding driver_finding() {
    const Driver& table = driver();
    const std::string version = inventory().driver_version;
    if (table.why.empty())
        return {Health::ok, "driver", "",
                text(version, ", CUDA ", table.version / 1000, ".", table.version % 1000 / 10,
                     " (580 is the oldest supported)"),
                ""};
    return {Health::problem, "driver", "", table.why,
            table.version == 0
                ? "install NVIDIA's driver, 580 or newer (`doctor_guide` shows how); start a container with "
                  "--gpus all"
                : "check whether `nvidia-smi` works, and `dmesg | grep -i nvrm` for messages of the kernel module"};
}

Finding nvml_finding() {
    if (nvml().why.empty()) return {Health::ok, "nvml", "", "it answers", ""};
    const bool alone = driver().why.empty();
    return {alone ? Health::warning : Health::problem, "nvml", "",
            nvml().why + (alone ? ": the free memory and the processes of the GPUs are not known" : ""),
            "install all parts of the driver (libnvidia-ml.so.1); in a container "
            "NVIDIA_DRIVER_CAPABILITIES=compute,utility"};
}

bool is_device_file(const std::string& name) {
    if (name == "nvidiactl" || name == "nvidia-uvm") return true;
    return name.size() > 6 && name.starts_with("nvidia") && name.find_first_not_of("0123456789", 6) == name.npos;
}

std::vector<std::filesystem::path> device_files(const std::string& folder) {
    std::vector<std::filesystem::path> files;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
        if (is_device_file(entry.path().filename().string())) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

bool nvidia_on_bus(const std::string& pci_folder) {
    std::error_code ignored;
    for (const auto& device : std::filesystem::directory_iterator(pci_folder, ignored))
        if (content_of(device.path() / "vendor").starts_with("0x10de")) return true;
    return false;
}

bool machine_has_gpu(const std::string& dev_folder, const std::string& pci_folder) {
    std::error_code ignored;
    // The driver last: it takes longer to load than a short run.
    return !device_files(dev_folder).empty() || std::filesystem::exists(dev_folder + "/dxg", ignored) ||  // WSL2's
           nvidia_on_bus(pci_folder) || driver().version > 0;
}

Findings check_driver(const std::string& dev_folder, const std::string& pci_folder) {
    if (!why_disabled().empty())
        return {{Health::warning, "driver", "", why_disabled(), "unset it, and glint searches for GPUs again"}};
    if (!machine_has_gpu(dev_folder, pci_folder))
        return {{Health::ok, "driver", "", "no NVIDIA GPU in this machine: glint computes on the CPU", ""}};
    Findings findings{driver_finding(), nvml_finding()};
    const auto files = device_files(dev_folder);
    const std::string where = dev_folder + "/nvidia*";
    if (files.empty()) {
        const bool works = driver().why.empty();  // through other files (WSL2), or simulated
        findings.push_back(
            {works ? Health::ok : Health::problem, "device files", "",
             where + (works ? ": none, and none are needed here" : ": none, so the kernel module is not loaded"),
             works ? "" : "load it: modprobe nvidia, nvidia-modprobe -u -c=0; start a container with --gpus all"});
        return findings;
    }
    const std::size_t before = findings.size();
    for (const auto& file : files) {
        const lease::Descriptor opened(::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
        if (!opened)
            findings.push_back({Health::problem, "device files", "", text(file.string(), ": ", std::strerror(errno)),
                                enable_peer_access});
    }
    const auto has = [&](const char* name) {
        return std::any_of(files.begin(), files.end(), [&](const auto& file) { return file.filename() == name; });
    };
    if (!has("nvidia-uvm"))
        findings.push_back({Health::problem, "device files", "",
                            dev_folder + "/nvidia-uvm is missing, and CUDA needs it",
                            "load the module nvidia-uvm: nvidia-modprobe -u -c=0, as root"});
    if (findings.size() == before)
        findings.push_back(
            {Health::ok, "device files", "", text(where, ": ", files.size(), ", all open to this user"), ""});
    return findings;
}

}  // namespace glint::gpu::doctor
