// Initialisation, errors, devices.
// SPDX-License-Identifier: MIT
#include <pthread.h>

#include <cstdio>
#include <cstring>

#include "api.hpp"
#include "memory.hpp"
#include "process.hpp"

#define DEVICE_OR_RETURN(ordinal)         \
    const int index = device_of(ordinal); \
    if (index < 0) return invalid_device; \
    const Device& d = server().devices[index]

namespace simgpu::api {
namespace {
constexpr cu::Result invalid_device = 101;
}

cu::Result cuInit(unsigned) {
    Process& p = process();
    if (p.initialized) return cu::success;
    const auto visible = visible_devices();
    if (!visible) return invalid_device;
    if (visible->empty()) return cu::no_device;
    claim_slot();
    p.visible = *visible;
    for (int i = 0; i < max_devices; ++i) p.contexts[i].device = i;
    pthread_atfork(nullptr, nullptr, [] { process().forked = true; });
    p.initialized = true;
    return cu::success;
}

cu::Result cuDriverGetVersion(int* version) {
    *version = int(setting_number("SIMGPU_DRIVER", 13000));
    return cu::success;
}

/// Like the real driver, returns a null pointer and "invalid value" for an unknown code.
cu::Result cuGetErrorName(cu::Result result, const char** name) {
    switch (result) {
        case cu::success: *name = "CUDA_SUCCESS"; break;
#define X(code, words)                \
    case code:                        \
        *name = "CUDA_ERROR_" #words; \
        break;
#include "error_names.inc"
#undef X
        default: *name = nullptr; return cu::invalid_value;
    }
    return cu::success;
}

cu::Result cuGetErrorString(cu::Result result, const char** text) {
    *text = result == cu::success ? "no error" : "an error of the simulated driver";
    return cu::success;
}

cu::Result cuDeviceGetCount(int* count) {
    *count = int(process().visible.size());
    return cu::success;
}

cu::Result cuDeviceGet(cu::Device* device, int ordinal) {
    if (device_of(ordinal) < 0) return invalid_device;
    *device = ordinal;
    return cu::success;
}

cu::Result cuDeviceGetName(char* name, int size, cu::Device device) {
    DEVICE_OR_RETURN(device);
    std::snprintf(name, std::size_t(size), "%s", d.name);
    return cu::success;
}

cu::Result cuDeviceGetUuid(cu::Uuid* uuid, cu::Device device) {
    DEVICE_OR_RETURN(device);
    std::memcpy(uuid->bytes, d.uuid, sizeof uuid->bytes);
    return cu::success;
}

cu::Result cuDeviceGetPCIBusId(char* text, int size, cu::Device device) {
    DEVICE_OR_RETURN(device);
    (void)d;
    std::snprintf(text, std::size_t(size), "%s", pci_bus_text(index).c_str() + 4);  // the domain has four digits here
    return cu::success;
}

cu::Result cuDeviceTotalMem(size_t* bytes, cu::Device device) {
    DEVICE_OR_RETURN(device);
    *bytes = d.total_bytes;
    return cu::success;
}

cu::Result cuDeviceGetAttribute(int* value, int attribute, cu::Device device) {
    DEVICE_OR_RETURN(device);
    switch (attribute) {
        case cu::multiprocessor_count: *value = 8; break;
        case cu::kernel_exec_timeout: *value = is_sick(index, "display"); break;
        case cu::compute_mode: *value = d.compute_mode; break;
        case cu::capability_major: *value = d.capability / 10; break;
        case cu::capability_minor: *value = d.capability % 10; break;
        case cu::max_shared_memory_per_block_optin: *value = 227 * 1024; break;
        case cu::unified_addressing:
        case cu::managed_memory:
        case cu::memory_pools_supported: *value = 1; break;
        case cu::concurrent_managed_access: *value = !is_set("SIMGPU_NO_CONCURRENT_MANAGED"); break;
        default: bug("device attribute %d is not simulated", attribute);
    }
    return cu::success;
}

cu::Result cuDeviceCanAccessPeer(int* yes, cu::Device device, cu::Device peer) {
    if (device_of(device) < 0 || device_of(peer) < 0) return invalid_device;
    *yes = device != peer && !is_set("SIMGPU_NO_PEER");
    return cu::success;
}

}  // namespace simgpu::api
