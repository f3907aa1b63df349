// Memory pools, and allocations from them.
// SPDX-License-Identifier: MIT
#include "api.hpp"
#include "memory.hpp"
#include "process.hpp"

namespace simgpu::api {
namespace {

constexpr cu::Result invalid_device = 101;

cu::Result lost(const Pool& pool) { return process().contexts[pool.device].lost; }

}  // namespace

cu::Result cuMemPoolCreate(cu::MemPool* handle, const cu::MemPoolProps* props) {
    const int device = device_of(props->location.id);
    if (props->location.type != cu::location_device || device < 0) return invalid_device;
    if (props->alloc_type != 1 || props->handle_types != 0) return cu::invalid_value;
    if (const cu::Result error = process().contexts[device].lost) return error;
    *handle = reinterpret_cast<cu::MemPool>(&add_pool(device, props->max_size));
    return cu::success;
}

cu::Result cuMemPoolDestroy(cu::MemPool handle) {
    Pool& pool = pool_of(handle);
    if (const cu::Result error = lost(pool)) return error;
    if (pool.is_default) return cu::invalid_value;
    destroy_pool(pool);
    return cu::success;
}

cu::Result cuMemPoolTrimTo(cu::MemPool handle, size_t keep) {
    Pool& pool = pool_of(handle);
    if (const cu::Result error = lost(pool)) return error;
    trim(pool, keep);
    return cu::success;
}

cu::Result cuMemPoolSetAttribute(cu::MemPool handle, int attribute, void* value) {
    Pool& pool = pool_of(handle);
    const std::uint64_t number = *static_cast<std::uint64_t*>(value);
    switch (attribute) {
        case 1:
        case 2:
        case 3: break;  // reuse of memory: the simulation never reuses it
        case cu::pool_release_threshold: pool.release_threshold = number; break;
        case cu::pool_reserved_high: pool.reserved_high = pool.reserved(); break;  // it can be set to 0 only
        case cu::pool_used_high: pool.used_high = pool.used; break;
        default: bug("attribute %d of a memory pool cannot be set here", attribute);
    }
    return lost(pool);
}

cu::Result cuMemPoolGetAttribute(cu::MemPool handle, int attribute, void* value) {
    const Pool& pool = pool_of(handle);
    auto& number = *static_cast<std::uint64_t*>(value);
    switch (attribute) {
        case cu::pool_release_threshold: number = pool.release_threshold; break;
        case cu::pool_reserved_current: number = pool.reserved(); break;
        case cu::pool_reserved_high: number = pool.reserved_high; break;
        case cu::pool_used_current: number = pool.used; break;
        case cu::pool_used_high: number = pool.used_high; break;
        default: bug("attribute %d of a memory pool is not simulated", attribute);
    }
    return lost(pool);
}

cu::Result cuMemPoolSetAccess(cu::MemPool handle, const cu::MemAccess* access, size_t count) {
    Pool& pool = pool_of(handle);
    for (size_t i = 0; i < count; ++i) {
        const int device = device_of(access[i].location.id);
        if (access[i].location.type != cu::location_device || device < 0) return invalid_device;
        if (device != pool.device && is_set("SIMGPU_NO_PEER")) return invalid_device;
        if (access[i].flags == 3)
            pool.access.insert(device);
        else
            pool.access.erase(device);
    }
    return lost(pool);
}

cu::Result cuMemAllocFromPoolAsync(cu::DevicePtr* address, size_t bytes, cu::MemPool handle, cu::Stream stream_handle) {
    Pool& pool = pool_of(handle);
    Stream& stream = process().streams.get(stream_handle);
    if (bytes == 0) return cu::invalid_value;
    if (const cu::Result failed = allocate_from(pool, bytes, address)) return failed;
    push(stream, {});
    find_allocation(*address)->uses.note(stream, "cuMemAllocFromPoolAsync", *address, *address + bytes, true);
    return stream.context->lost;
}

cu::Result cuMemFreeAsync(cu::DevicePtr address, cu::Stream stream_handle) {
    Stream& stream = process().streams.get(stream_handle);
    Allocation* a = find_allocation(address);
    if (!a || a->begin != address || a->freed) bug("cuMemFreeAsync of what is not allocated, or was freed before");
    if (!a->pool) bug("cuMemFreeAsync of memory outside of pools");
    a->freed = true;
    push(stream, [address] {
        release(address);
        return cu::success;
    });
    // An eager schedule has already run the operation.
    if ((a = find_allocation(address))) a->uses.note(stream, "cuMemFreeAsync", address, a->end(), true);
    return stream.context->lost;
}

}  // namespace simgpu::api
