// Loads libnvidia-ml.so.1 and its functions.
// SPDX-License-Identifier: MIT
#include "gpu/nvml.hpp"

#include <dlfcn.h>
#include <time.h>

#include <algorithm>

#include "gpu/advice.hpp"
#include "gpu/driver.hpp"
#include "gpu/text.hpp"

namespace glint::gpu {
namespace {

Nvml load_nvml() {
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
    static const Nvml table = load_nvml();
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

// NVML keeps samples of the last seconds, about six per second. The latest sample of each process counts.
std::optional<std::map<unsigned, int>> utilization_by_process(const Nvml& table, cu::NvmlDevice device) {
    constexpr unsigned long long window_us = 2'000'000;
    if (!table.nvmlDeviceGetProcessUtilization) return {};
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const unsigned long long since_us = now.tv_sec * 1'000'000ull + now.tv_nsec / 1000ull - window_us;
    unsigned count = 0;
    int result = table.nvmlDeviceGetProcessUtilization(device, nullptr, &count, since_us);
    std::vector<cu::NvmlProcessUtilization> samples;
    for (int attempt = 0; attempt < 4 && result == nvml_insufficient_size; ++attempt) {
        samples.resize(std::max<std::size_t>(count, samples.size() + 16));  // more processes may start meanwhile
        count = unsigned(samples.size());
        result = table.nvmlDeviceGetProcessUtilization(device, samples.data(), &count, since_us);
    }
    if (result == nvml_not_found) return std::map<unsigned, int>();  // no process has computed
    if (result != nvml_success) return {};
    samples.resize(std::min<std::size_t>(count, samples.size()));
    std::stable_sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) { return a.at_us < b.at_us; });
    std::map<unsigned, int> percent;
    for (const cu::NvmlProcessUtilization& sample : samples) percent[sample.pid] = int(std::min(sample.gpu, 100u));
    return percent;
}

}  // namespace glint::gpu
