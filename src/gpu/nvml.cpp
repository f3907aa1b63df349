// Finds libnvidia-ml.so.1 and its functions.
// SPDX-License-Identifier: MIT
#include "gpu/nvml.hpp"

#include <dlfcn.h>

#include "gpu/text.hpp"

namespace glint::gpu {
namespace {

/// The errors that a start meets, in our words: nvmlErrorString returns a text, and the list says int of every function.
std::string words(int result) {
    switch (result) {
        case 4: return "no permission to use the NVIDIA device files (4)";
        case 9: return "the NVIDIA kernel module is not loaded (9)";
        case 18: return "NVML and the kernel module are of different versions (18): reboot after a driver update";
        default: return text("error ", result);
    }
}

Nvml load() {
    Nvml table;
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char* error = dlerror();
        table.why = text("no NVML (", error ? error : "libnvidia-ml.so.1 not found", ")");
        return table;
    }
#define X(name, required, parameters)                                        \
    table.name = reinterpret_cast<int(*) parameters>(dlsym(library, #name)); \
    if (!table.name && required && table.why.empty()) table.why = "NVML lacks " #name ": install driver 580 or newer";
#include "gpu/nvml_list.inc"
#undef X
    if (!table.why.empty()) return table;
    if (const int result = table.nvmlInit_v2()) table.why = "NVML does not start: " + words(result);
    return table;
}

}  // namespace

const Nvml& nvml() {
    static const Nvml table = load();
    return table;
}

std::optional<std::vector<DeviceProcess>> compute_processes(const Nvml& table, cu::NvmlDevice device) {
    constexpr unsigned at_first = 64;
    constexpr unsigned long long not_known = ~0ull;
    if (!table.nvmlDeviceGetComputeRunningProcesses_v3) return {};
    std::vector<cu::NvmlProcess> found(at_first);
    for (int attempt = 0; attempt < 4; ++attempt) {
        unsigned count = unsigned(found.size());
        const int result = table.nvmlDeviceGetComputeRunningProcesses_v3(device, &count, found.data());
        if (result != nvml_success && result != nvml_insufficient_size) return {};
        found.resize(result == nvml_success ? count : count + at_first);  // others may start meanwhile
        if (result != nvml_success) continue;
        std::vector<DeviceProcess> processes;
        for (const cu::NvmlProcess& process : found)
            processes.push_back({process.pid, process.used_bytes == not_known ? 0 : process.used_bytes});
        return processes;
    }
    return {};
}

}  // namespace glint::gpu
