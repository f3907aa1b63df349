// Allocations, memory pools, and pinned host memory of this process.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <string>

#include "clock.hpp"
#include "gpu/cuda_abi.hpp"

namespace simgpu {

namespace cu = glint::cu;

constexpr int managed_arena = 32;  // the arena after the devices' own

struct Pool {
    int device = -1;
    std::uint64_t max_bytes = 0;  // 0: no limit
    std::uint64_t release_threshold = 0;
    std::uint64_t reserved_high = 0, used = 0, used_high = 0;
    std::map<std::uint64_t, std::uint64_t> placed;  // offset and size of each allocation in the pool's address space
    std::set<std::uint64_t> granules;               // parts of that space that have memory of the device, by number
    std::set<int> access;                           // other devices that may access the pool
    bool is_default = false, destroyed = false;

    std::uint64_t reserved() const;
};

struct Allocation {
    std::uintptr_t begin = 0;
    std::uint64_t bytes = 0;
    std::uintptr_t mapped_begin = 0;
    std::uint64_t mapped_bytes = 0;
    int device = -1;
    Pool* pool = nullptr;
    std::uint64_t offset = 0;  // in the pool
    bool managed = false;
    HostAccess host = HostAccess::none;
    const void* context = nullptr;  // the owner of memory outside of pools
    std::string file;               // for memory that other processes may open, or that this process has opened
    bool imported = false;
    bool freed = false;  // cuMemFreeAsync was called; the memory is released when that operation has run
    UseLog uses;

    std::uintptr_t end() const { return begin + bytes; }
};

std::map<std::uintptr_t, Allocation>& allocations();
/// Returns the allocation that contains this address, or null.
Allocation* find_allocation(std::uintptr_t address);

cu::Result allocate_from(Pool& pool, std::uint64_t bytes, cu::DevicePtr* address);
cu::Result allocate_managed(int device, std::uint64_t bytes, cu::DevicePtr* address);
/// Allocates outside of pools, in a file, so that other processes may open the memory.
cu::Result allocate_plain(int device, std::uint64_t bytes, cu::DevicePtr* address);
cu::Result export_memory(const Allocation& allocation, cu::IpcHandle* handle);
cu::Result import_memory(int device, const cu::IpcHandle& handle, cu::DevicePtr* address);
/// Records a use by the operation last enqueued. The host may not write managed memory, nor read the operation's
/// results in it, until it has synchronized with that operation. With SIMGPU_NO_CONCURRENT_MANAGED a kernel closes all
/// managed memory to the host.
void note_use(Allocation& allocation, const Stream& stream, const char* what, std::uintptr_t begin, std::uintptr_t end,
              bool write);
void note_kernel(const Stream& stream);
void note_synchronization();

/// Releases memory immediately, after all operations that use it have run.
void release(std::uintptr_t begin);

/// Releases granules without an allocation, but keeps `keep` bytes.
void trim(Pool& pool, std::uint64_t keep);
Pool& default_pool(int device);
Pool& add_pool(int device, std::uint64_t max_bytes);
Pool& pool_of(cu::MemPool handle);  // ends the program if the handle is invalid
void destroy_pool(Pool& pool);
std::size_t pool_count();  // without the default pools

/// A copy from or to pinned memory that has not run yet.
struct PendingUse {
    std::uintptr_t begin, end;
    bool write;
};

/// Page-locked host memory.
struct Pinned {
    std::uint64_t bytes;
    UseLog uses;
    std::list<PendingUse> pending;
};
std::map<std::uintptr_t, Pinned>& pinned();
Pinned* find_pinned(const void* address);

}  // namespace simgpu
