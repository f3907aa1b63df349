// Allocations and memory pools.
// SPDX-License-Identifier: MIT
#include "memory.hpp"

#include <algorithm>
#include <cstring>

#include "guard.hpp"
#include "process.hpp"
#include "server.hpp"
#include "settings.hpp"

namespace simgpu {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t pool_granule = 32 * mebibyte;  // measured: 99 MiB in a pool took 128 MiB
constexpr std::uint64_t managed_granule = 2 * mebibyte;
constexpr std::uint64_t alignment = 256;                // what the driver promises
constexpr std::uint64_t poisoned_bytes = 4 * mebibyte;  // more would cost real memory

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Destroyed ones too, so that no later pool gets the address of a handle that is stale.
std::set<Pool*>& pools() {
    static auto& set = *new std::set<Pool*>;
    return set;
}

/// First fit from where the last search ended, so that freed addresses are not used again soon. Between two allocations
/// there is always a gap, so that overruns fault.
std::uintptr_t find_room(int arena_index, std::uint64_t bytes) {
    static std::uintptr_t next[max_devices + 1];
    const Arena arena = arena_of(arena_index);
    const std::uint64_t needed = bytes + 16 * page;
    std::uintptr_t at = std::max(next[arena_index], arena.begin);
    for (int round = 0; round < 2; ++round, at = arena.begin) {
        auto neighbor = allocations().lower_bound(at);
        while (at + needed <= arena.end) {
            const bool free = neighbor == allocations().end() || neighbor->second.mapped_begin >= at + needed;
            if (free) return next[arena_index] = at + needed, at;
            at = round_up(neighbor->second.end(), page) + 16 * page;
            ++neighbor;
        }
    }
    broken("the address space of device %d is full", arena_index);
}

/// The end of the allocation is the end of its last page, as far as the alignment allows: reading beyond it faults.
Allocation& map_allocation(int arena, std::uint64_t bytes) {
    Allocation a;
    a.bytes = bytes;
    a.mapped_bytes = round_up(bytes, page);
    a.mapped_begin = find_room(arena, a.mapped_bytes);
    a.begin = a.mapped_begin + a.mapped_bytes - round_up(bytes, alignment);
    set_access(a.mapped_begin, a.mapped_bytes, true);
    std::memset(reinterpret_cast<void*>(a.begin), 0xFF, std::min(bytes, poisoned_bytes));  // NaN
    return allocations()[a.begin] = a;
}

/// Takes what the pool lacks from the device. A failed request leaves a pool that may keep everything holding
/// everything: measured, with a release threshold without limit.
bool grow(Pool& pool, std::uint64_t needed) {
    ServerLock locked;
    const std::uint64_t missing = needed > pool.reserved ? needed - pool.reserved : 0;
    const std::uint64_t available = free_bytes(pool.device) / pool_granule * pool_granule;
    const bool fits = missing <= available;
    const bool hoards = !fits && pool.release_threshold > pool.reserved;
    const std::uint64_t taken = fits ? missing : hoards ? available : 0;
    own_use(pool.device).pool_bytes += taken;
    pool.reserved += taken;
    pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
    return fits;
}

std::uint64_t in_pool(std::uint64_t bytes) { return round_up(bytes, 512); }

}  // namespace

std::map<std::uintptr_t, Allocation>& allocations() {
    static auto& map = *new std::map<std::uintptr_t, Allocation>;
    return map;
}

Allocation* find_allocation(std::uintptr_t address) {
    auto after = allocations().upper_bound(address);
    if (after == allocations().begin()) return nullptr;
    Allocation& a = std::prev(after)->second;
    return address < a.end() ? &a : nullptr;
}

cu::Result allocate_from(Pool& pool, std::uint64_t bytes, cu::DevicePtr* address) {
    const std::uint64_t used = pool.used + in_pool(bytes);
    // measured: a pool with a limit refuses at once, and hoards nothing; the limit counts in granules
    if (pool.max_bytes && used > round_up(pool.max_bytes, pool_granule)) return cu::out_of_memory;
    if (!grow(pool, round_up(used, pool_granule))) return cu::out_of_memory;
    pool.used = used;
    pool.used_high = std::max(pool.used_high, used);
    Allocation& a = map_allocation(pool.device, bytes);
    a.device = pool.device;
    a.pool = &pool;
    set_access(a.mapped_begin, a.mapped_bytes, false);
    *address = a.begin;
    return cu::success;
}

cu::Result allocate_managed(int device, std::uint64_t bytes, cu::DevicePtr* address) {
    const std::uint64_t taken = round_up(bytes, managed_granule);
    {
        ServerLock locked;
        // A real driver lets managed memory exceed the device's; that can hang a GPU, so that here it is refused.
        if (taken > free_bytes(device)) return cu::out_of_memory;
        own_use(device).managed_bytes += taken;
    }
    Allocation& a = map_allocation(managed_arena, bytes);
    a.device = device;
    a.managed = true;
    *address = a.begin;
    return cu::success;
}

void release(std::uintptr_t begin) {
    const Allocation a = allocations().at(begin);
    allocations().erase(begin);
    drop_pages(a.mapped_begin, a.mapped_bytes);
    if (a.managed) {
        ServerLock locked;
        own_use(a.device).managed_bytes -= round_up(a.bytes, managed_granule);
        return;
    }
    Pool& pool = *a.pool;
    pool.used -= in_pool(a.bytes);
    trim(pool, pool.release_threshold);
}

void trim(Pool& pool, std::uint64_t keep) {
    keep = std::max(round_up(pool.used, pool_granule), std::min(keep, pool.reserved));
    if (keep >= pool.reserved) return;
    ServerLock locked;
    own_use(pool.device).pool_bytes -= pool.reserved - keep;
    pool.reserved = keep;
}

Pool& default_pool(int device) {
    static Pool* pool[max_devices];
    if (!pool[device]) {
        pool[device] = &add_pool(device, 0);
        pool[device]->is_default = true;
    }
    return *pool[device];
}

Pool& add_pool(int device, std::uint64_t max_bytes) {
    auto* pool = new Pool;
    pool->device = device;
    pool->max_bytes = max_bytes;
    pools().insert(pool);
    return *pool;
}

Pool& pool_of(cu::MemPool handle) {
    auto* pool = reinterpret_cast<Pool*>(handle);
    if (!pools().contains(pool) || pool->destroyed) bug("a memory pool that does not exist is used");
    return *pool;
}

/// With live allocations it stays until they are freed; measured: released with the context, they stay until the
/// process ends.
void destroy_pool(Pool& pool) {
    pool.destroyed = true;
    pool.release_threshold = 0;
    trim(pool, 0);
}

std::size_t pool_count() {
    return std::size_t(
        std::count_if(pools().begin(), pools().end(), [](const Pool* p) { return !p->is_default && !p->destroyed; }));
}

std::map<std::uintptr_t, Pinned>& pinned() {
    static auto& map = *new std::map<std::uintptr_t, Pinned>;
    return map;
}

Pinned* find_pinned(const void* address) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    auto after = pinned().upper_bound(at);
    if (after == pinned().begin()) return nullptr;
    auto& [begin, memory] = *std::prev(after);
    return at < begin + memory.bytes ? &memory : nullptr;
}

}  // namespace simgpu
