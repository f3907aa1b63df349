// Loads libnvidia-ml.so.1 and its functions.
// SPDX-License-Identifier: MIT
#include "gpu/nvml.hpp"

#include <dlfcn.h>

#include "gpu/advice.hpp"
#include "gpu/driver.hpp"
#include "gpu/text.hpp"

namespace glint::gpu {
namespace {

Nvml load() {
    Nvml table;
    if (table.why = why_disabled(); !table.why.empty()) return table;
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
    if (const int result = table.nvmlInit_v2()) {
        const Advice* advice = nvml_advice(result);
        table.why = text("NVML does not start: ", advice ? advice->meaning : "an error", " (", result, ")",
                         advice ? text(": ", advice->remedy) : "");
    }
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
        found.resize(result == nvml_success ? count : count + at_first);  // more processes may start meanwhile
        if (result != nvml_success) continue;
        std::vector<DeviceProcess> processes;
        for (const cu::NvmlProcess& process : found)
            processes.push_back({process.pid, process.used_bytes == not_known ? 0 : process.used_bytes});
        return processes;
    }
    return {};
}

}  // namespace glint::gpu
