// libnvidia-ml.so.1 of the simulated server. It lists all GPUs, regardless of CUDA_VISIBLE_DEVICES.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "gpu/cuda_abi.hpp"
#include "server.hpp"
#include "settings.hpp"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace cu = glint::cu;
using simgpu::server;
using simgpu::ServerLock;

namespace {

enum : int { success = 0, uninitialized = 1, invalid = 2, unsupported = 3, not_found = 6, too_small = 7, lost = 15 };

bool initialized = false;

/// Returns the error that SIMGPU_NVML_FAULT sets for a function, or 0. "nvmlDeviceGetUUID:3,*@1:15": 3 for this
/// function and every device, and 15 for any function with device 1.
int planned(std::string_view function, int device = -1) {
    static const auto faults = simgpu::split(simgpu::setting("SIMGPU_NVML_FAULT"), ',');
    for (const std::string& fault : faults) {
        const std::string_view where = std::string_view(fault).substr(0, fault.find(':'));
        const auto at = where.find('@');
        const std::string_view name = where.substr(0, at);
        if (name != function && (name != "*" || device < 0)) continue;
        if (at != where.npos && where.substr(at + 1) != std::to_string(device)) continue;
        return std::stoi(fault.substr(where.size() + 1));
    }
    return success;
}

/// Returns the server's number of a device, or -1.
int number(cu::NvmlDevice handle) {
    const auto n = reinterpret_cast<std::intptr_t>(handle) - 1;
    return initialized && n >= 0 && n < server().device_count ? int(n) : -1;
}

cu::NvmlDevice handle_of(int device) { return reinterpret_cast<cu::NvmlDevice>(std::intptr_t(device) + 1); }

/// GPUs are in order. MIG instances follow their GPU and do not count.
int gpu_of_index(unsigned index) {
    for (int i = 0; i < server().device_count; ++i)
        if (server().devices[i].parent < 0 && index-- == 0) return i;
    return -1;
}

int give(const char* text, char* out, unsigned size) {
    if (std::strlen(text) + 1 > size) return too_small;
    std::strcpy(out, text);
    return success;
}

}  // namespace

#define READY_OR_RETURN(device)             \
    if (!initialized) return uninitialized; \
    if (const int fault = planned(__func__, device)) return fault

#define DEVICE_OR_RETURN(handle)                   \
    const int n = number(handle);                  \
    READY_OR_RETURN(n);                            \
    if (n < 0) return invalid;                     \
    const simgpu::Device& d = server().devices[n]; \
    (void)d

EXPORTED int nvmlInit_v2() {
    if (const int fault = planned(__func__)) return fault;
    server();
    initialized = true;
    return success;
}

EXPORTED int nvmlShutdown() {
    initialized = false;
    return success;
}

EXPORTED const char* nvmlErrorString(int result) { return result == success ? "Success" : "Simulated error"; }

EXPORTED int nvmlSystemGetDriverVersion(char* text, unsigned size) {
    READY_OR_RETURN(-1);
    return give(simgpu::setting("SIMGPU_DRIVER_NAME", "580.00.00").c_str(), text, size);
}

EXPORTED int nvmlDeviceGetCount_v2(unsigned* count) {
    READY_OR_RETURN(-1);
    *count = 0;
    while (gpu_of_index(*count) >= 0) ++*count;
    return success;
}

EXPORTED int nvmlDeviceGetHandleByIndex_v2(unsigned index, cu::NvmlDevice* device) {
    const int gpu = gpu_of_index(index);
    READY_OR_RETURN(gpu);
    if (gpu < 0) return invalid;
    if (simgpu::is_sick(gpu, "off-bus")) return lost;
    *device = handle_of(gpu);
    return success;
}

EXPORTED int nvmlDeviceGetHandleByUUID(const char* uuid, cu::NvmlDevice* device) {
    READY_OR_RETURN(-1);
    for (int i = 0; i < server().device_count; ++i) {
        if (uuid_text(server().devices[i]) != uuid) continue;
        *device = handle_of(i);
        return success;
    }
    return not_found;
}

EXPORTED int nvmlDeviceGetName(cu::NvmlDevice device, char* name, unsigned size) {
    DEVICE_OR_RETURN(device);
    return give(d.name, name, size);
}

EXPORTED int nvmlDeviceGetUUID(cu::NvmlDevice device, char* uuid, unsigned size) {
    DEVICE_OR_RETURN(device);
    return give(uuid_text(d).c_str(), uuid, size);
}

EXPORTED int nvmlDeviceGetMemoryInfo(cu::NvmlDevice device, cu::NvmlMemory* memory) {
    DEVICE_OR_RETURN(device);
    const ServerLock locked;
    memory->total = d.total_bytes;
    memory->free = simgpu::free_bytes(n);
    memory->used = memory->total - memory->free;
    return success;
}

/// Unknown if MIG is on, as in the real library.
EXPORTED int nvmlDeviceGetUtilizationRates(cu::NvmlDevice device, cu::NvmlUtilization* utilization) {
    DEVICE_OR_RETURN(device);
    if (d.parent >= 0 || d.instances > 0) return unsupported;
    const ServerLock locked;
    utilization->gpu = unsigned(simgpu::utilization_percent(n));
    utilization->memory = utilization->gpu / 2;
    return success;
}

/// In a container (SIMGPU_HIDE_PIDS) NVML shows no processes, not even the caller's.
EXPORTED int nvmlDeviceGetComputeRunningProcesses_v3(cu::NvmlDevice device, unsigned* count, cu::NvmlProcess* out) {
    DEVICE_OR_RETURN(device);
    constexpr unsigned no_instance = ~0u;
    const unsigned capacity = *count;
    *count = 0;
    if (simgpu::is_set("SIMGPU_HIDE_PIDS")) return success;
    const auto add = [&](unsigned pid, std::uint64_t bytes, unsigned instance) {
        if (*count < capacity && out) out[*count] = {pid, bytes, instance, instance == no_instance ? instance : 0};
        ++*count;
    };
    const ServerLock locked;
    for (int i = n; i <= n + d.instances; ++i) {
        const unsigned instance =
            server().devices[i].parent < 0 ? no_instance : unsigned(i - server().devices[i].parent);
        if (server().devices[i].foreign_bytes)
            add(server().devices[i].foreign_pid, server().devices[i].foreign_bytes, instance);
        for (simgpu::ProcessEntry& slot : server().slots)
            if (slot.used && slot.use[i].context_bytes) add(unsigned(slot.pid), simgpu::shown_bytes(slot, i), instance);
    }
    return *count > capacity ? too_small : success;
}

/// Processes that have computed recently share the utilization that the foreign process leaves.
EXPORTED int nvmlDeviceGetProcessUtilization(cu::NvmlDevice device, cu::NvmlProcessUtilization* out, unsigned* count,
                                             unsigned long long) {
    DEVICE_OR_RETURN(device);
    if (d.parent >= 0 || d.instances > 0) return unsupported;
    const unsigned capacity = out ? *count : 0;
    *count = 0;
    if (simgpu::is_set("SIMGPU_HIDE_PIDS")) return not_found;
    const ServerLock locked;
    const unsigned foreign = d.foreign_bytes ? unsigned(d.foreign_utilization) : 0;
    const int busy = simgpu::busy_processes(n);
    const auto add = [&](unsigned pid, unsigned percent) {
        if (percent == 0) return;
        if (*count < capacity) out[*count] = {pid, 0, percent, percent / 2, 0, 0};
        ++*count;
    };
    add(d.foreign_pid, foreign);
    for (const simgpu::ProcessEntry& slot : server().slots)
        if (simgpu::is_busy(slot, n)) add(unsigned(slot.pid), (97 - std::min(97u, foreign)) / unsigned(busy));
    return *count == 0 ? not_found : *count > capacity ? too_small : success;
}

EXPORTED int nvmlDeviceGetComputeMode(cu::NvmlDevice device, int* mode) {
    DEVICE_OR_RETURN(device);
    *mode = d.compute_mode;
    return success;
}

EXPORTED int nvmlDeviceGetPersistenceMode(cu::NvmlDevice device, int* mode) {
    DEVICE_OR_RETURN(device);
    *mode = !simgpu::is_sick(n, "persistence-off");
    return success;
}

EXPORTED int nvmlDeviceGetTotalEccErrors(cu::NvmlDevice device, int type, int, unsigned long long* count) {
    DEVICE_OR_RETURN(device);
    *count = type == 1 && simgpu::is_sick(n, "ecc") ? 3 : 0;
    return success;
}

EXPORTED int nvmlDeviceGetRemappedRows(cu::NvmlDevice device, unsigned* correctable, unsigned* uncorrectable,
                                       unsigned* pending, unsigned* failed) {
    DEVICE_OR_RETURN(device);
    *correctable = 0;
    *uncorrectable = *pending = simgpu::is_sick(n, "row-pending");
    *failed = simgpu::is_sick(n, "row-failed");
    return success;
}

EXPORTED int nvmlDeviceGetCudaComputeCapability(cu::NvmlDevice device, int* major, int* minor) {
    DEVICE_OR_RETURN(device);
    *major = d.capability / 10;
    *minor = d.capability % 10;
    return success;
}

EXPORTED int nvmlDeviceGetMigMode(cu::NvmlDevice device, unsigned* now, unsigned* pending) {
    DEVICE_OR_RETURN(device);
    if (d.parent >= 0) return unsupported;
    *now = *pending = d.instances > 0;
    if (simgpu::is_sick(n, "mig-pending")) *pending = !*now;
    return success;
}

EXPORTED int nvmlDeviceGetMaxMigDeviceCount(cu::NvmlDevice device, unsigned* count) {
    DEVICE_OR_RETURN(device);
    *count = d.parent < 0 ? 7 : 0;
    return success;
}

EXPORTED int nvmlDeviceGetMigDeviceHandleByIndex(cu::NvmlDevice device, unsigned index, cu::NvmlDevice* mig) {
    DEVICE_OR_RETURN(device);
    if (d.parent >= 0 || d.instances == 0) return invalid;
    if (index >= unsigned(d.instances)) return not_found;  // indices may have gaps, so callers must try all
    *mig = handle_of(n + 1 + int(index));
    return success;
}

EXPORTED int nvmlDeviceGetPciInfo_v3(cu::NvmlDevice device, cu::NvmlPciInfo* pci) {
    DEVICE_OR_RETURN(device);
    *pci = {};
    const std::string bus = simgpu::pci_bus_text(n);
    std::snprintf(pci->bus_id, sizeof pci->bus_id, "%s", bus.c_str());
    std::snprintf(pci->bus_id_legacy, sizeof pci->bus_id_legacy, "%s", bus.c_str() + 4);
    pci->bus = unsigned(d.parent < 0 ? n : d.parent) + 1;
    return success;
}

EXPORTED int nvmlDeviceGetCurrPcieLinkGeneration(cu::NvmlDevice device, unsigned* generation) {
    DEVICE_OR_RETURN(device);
    *generation = 5;
    return success;
}

EXPORTED int nvmlDeviceGetCurrPcieLinkWidth(cu::NvmlDevice device, unsigned* width) {
    DEVICE_OR_RETURN(device);
    *width = 16;
    return success;
}

// Checks that all functions of glint's list exist with the same parameters. The list does not contain return types.
namespace {
template <class Function>
struct Parameters;
template <class R, class... P>
struct Parameters<R(P...)> {
    using type = void(P...);
};
#define X(name, required, parameters) \
    static_assert(std::is_same_v<Parameters<decltype(::name)>::type, Parameters<int parameters>::type>);
#include "gpu/nvml_list.inc"
#undef X
}  // namespace
