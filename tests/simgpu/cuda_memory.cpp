// Managed memory, pinned host memory, and attributes of addresses.
// SPDX-License-Identifier: MIT
#include "api.hpp"
#include "memory.hpp"
#include "process.hpp"

namespace simgpu::api {
namespace {

constexpr cu::Result already_registered = 712, not_registered = 713;

std::uintptr_t address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

}  // namespace

cu::Result cuMemGetInfo(size_t* free, size_t* total) {
    const ServerLock locked;
    *free = free_bytes(current()->device);
    *total = server().devices[current()->device].total_bytes;
    return cu::success;
}

cu::Result cuMemAllocManaged(cu::DevicePtr* address, size_t bytes, unsigned flags) {
    if (bytes == 0 || flags != cu::attach_global) return cu::invalid_value;
    const cu::Result result = allocate_managed(current()->device, bytes, address);
    if (result == cu::success) find_allocation(*address)->context = current();
    return result;
}

cu::Result cuMemAlloc(cu::DevicePtr* address, size_t bytes) {
    if (bytes == 0) return cu::invalid_value;
    const cu::Result result = allocate_plain(current()->device, bytes, address);
    if (result == cu::success) find_allocation(*address)->context = current();
    return result;
}

cu::Result cuIpcGetMemHandle(cu::IpcHandle* handle, cu::DevicePtr address) {
    const Allocation* a = find_allocation(address);
    if (!a || a->begin != address) return cu::invalid_value;
    return export_memory(*a, handle);
}

cu::Result cuIpcOpenMemHandle(cu::DevicePtr* address, cu::IpcHandle handle, unsigned flags) {
    if (flags != 1) return cu::invalid_value;
    const cu::Result result = import_memory(current()->device, handle, address);
    if (result == cu::success) find_allocation(*address)->context = current();
    return result;
}

/// Waits for all work, as the driver does.
cu::Result cuIpcCloseMemHandle(cu::DevicePtr address) {
    const Allocation* a = find_allocation(address);
    if (!a || a->begin != address || !a->imported)
        bug("cuIpcCloseMemHandle of what was not opened, or was closed before");
    synchronize_all();
    if (!current()->lost) release(address);
    return current()->take_error();
}

/// Waits for all work, as the driver does.
cu::Result cuMemFree(cu::DevicePtr address) {
    const Allocation* a = find_allocation(address);
    if (a && a->imported) bug("cuMemFree of another process's memory");
    if (!a || a->begin != address || a->freed) bug("cuMemFree of what is not allocated, or was freed before");
    synchronize_all();
    if (!current()->lost) release(address);
    return current()->take_error();
}

/// Only checks the call: pages do not migrate here.
cu::Result cuMemPrefetchAsync(cu::DevicePtr address, size_t bytes, cu::Location to, unsigned, cu::Stream handle) {
    Stream& stream = process().streams.get(handle);
    const Allocation* a = find_allocation(address);
    if (!a || !a->managed || address + bytes > a->end()) return cu::invalid_value;
    if (to.type == cu::location_device && device_of(to.id) < 0) return cu::invalid_value;
    if (to.type != cu::location_device && to.type != cu::location_host) return cu::invalid_value;
    push(stream, {});
    return stream.context->lost;
}

cu::Result cuMemHostRegister(void* p, size_t bytes, unsigned) {
    if (!p || bytes == 0) return cu::invalid_value;
    const bool overlaps = find_pinned(p) || find_pinned(static_cast<char*>(p) + bytes - 1);
    if (overlaps) return already_registered;
    pinned()[address_of(p)] = {bytes, {}, {}};
    return cu::success;
}

/// Waits for all work, as the driver does.
cu::Result cuMemHostUnregister(void* p) {
    const auto found = pinned().find(address_of(p));
    if (found == pinned().end()) return not_registered;
    synchronize_all();
    pinned().erase(found);
    return cu::success;
}

/// Memory unknown to CUDA is not an error: its type is 0.
cu::Result cuPointerGetAttributes(unsigned count, int* attributes, void** values, cu::DevicePtr p) {
    constexpr int memory_type = 2, host = 1, device = 2;
    const bool known = find_allocation(p) != nullptr;
    for (unsigned k = 0; k < count; ++k) {
        if (attributes[k] != memory_type) bug("attribute %d of a pointer is not simulated", attributes[k]);
        *static_cast<unsigned*>(values[k]) = known ? device : find_pinned(reinterpret_cast<void*>(p)) ? host : 0;
    }
    return cu::success;
}

}  // namespace simgpu::api
