// Allocations, memory pools, and pinned host memory of this process.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <set>

#include "clock.hpp"
#include "gpu/cuda_abi.hpp"

namespace simgpu {

namespace cu = glint::cu;

constexpr int managed_arena = 32;  // the arena after the devices' own

struct Pool {
    int device = -1;
    std::uint64_t max_bytes = 0;  // 0: no limit
    std::uint64_t release_threshold = 0;
    std::uint64_t reserved = 0, reserved_high = 0, used = 0, used_high = 0;
    std::set<int> access;  // other devices that may
    bool is_default = false, destroyed = false;
};

struct Allocation {
    std::uintptr_t begin = 0;
    std::uint64_t bytes = 0;
    std::uintptr_t mapped_begin = 0;
    std::uint64_t mapped_bytes = 0;
    int device = -1;
    Pool* pool = nullptr;
    bool managed = false;
    const void* context = nullptr;  // that managed memory goes with
    bool freed = false;             // cuMemFreeAsync was called; it is gone when that has run
    UseLog uses;

    std::uintptr_t end() const { return begin + bytes; }
};

std::map<std::uintptr_t, Allocation>& allocations();
/// The one that holds this address, or null.
Allocation* find_allocation(std::uintptr_t address);

cu::Result allocate_from(Pool& pool, std::uint64_t bytes, cu::DevicePtr* address);
cu::Result allocate_managed(int device, std::uint64_t bytes, cu::DevicePtr* address);
/// At once: what may still use it has run.
void release(std::uintptr_t begin);

/// Gives back what the pool does not use, but keeps `keep`.
void trim(Pool& pool, std::uint64_t keep);
Pool& default_pool(int device);
Pool& add_pool(int device, std::uint64_t max_bytes);
Pool& pool_of(cu::MemPool handle);  // ends the program when it is none
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
