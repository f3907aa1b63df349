// Allocations and memory pools.
// SPDX-License-Identifier: MIT
#include "memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "guard.hpp"
#include "process.hpp"
#include "server.hpp"
#include "settings.hpp"

namespace simgpu {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t pool_granule = 32 * mebibyte;  // measured: 99 MiB in a pool took 128 MiB
constexpr std::uint64_t managed_granule = 2 * mebibyte;
constexpr std::uint64_t alignment = 256;                // guaranteed by the driver
constexpr std::uint64_t poisoned_bytes = 4 * mebibyte;  // more would cost real memory

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

/// All pools, including destroyed ones, so that no later pool gets the address of a stale handle.
std::set<Pool*>& pools() {
    static auto& set = *new std::set<Pool*>;
    return set;
}

/// Finds free address space: first fit from the end of the last search, so that freed addresses are not reused soon.
/// Between two allocations there is always a gap, so that overruns fault.
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

/// Places the end of the allocation as close to the end of its last page as the alignment allows, so that reading
/// beyond it faults.
Allocation& map_allocation(int arena, std::uint64_t bytes) {
    Allocation a;
    a.bytes = bytes;
    a.mapped_bytes = round_up(bytes, page);
    a.mapped_begin = find_room(arena, a.mapped_bytes);
    a.begin = a.mapped_begin + a.mapped_bytes - round_up(bytes, alignment);
    set_access(a.mapped_begin, a.mapped_bytes, HostAccess::all);
    std::memset(reinterpret_cast<void*>(a.begin), 0xFF, std::min(bytes, poisoned_bytes));  // NaN
    return allocations()[a.begin] = a;
}

std::uint64_t in_pool(std::uint64_t bytes) { return round_up(bytes, 512); }

using Granules = std::set<std::uint64_t>;

struct Range {
    std::uint64_t first, end;  // granules
    Range(std::uint64_t offset, std::uint64_t bytes)
        : first(offset / pool_granule), end((offset + bytes + pool_granule - 1) / pool_granule) {}
};

std::uint64_t count_missing(const Granules& there, const Range& range) {
    std::uint64_t missing = 0;
    for (std::uint64_t k = range.first; k < range.end; ++k) missing += !there.contains(k);
    return missing;
}

/// Returns the granules with an allocation.
Granules occupied(const Pool& pool) {
    Granules granules;
    for (const auto& [offset, bytes] : pool.placed)
        for (Range range(offset, bytes); range.first < range.end; ++range.first) granules.insert(range.first);
    return granules;
}

/// Returns the first of the gaps between allocations that need the fewest additional granules.
std::uint64_t find_offset(const Pool& pool, std::uint64_t bytes) {
    std::uint64_t best = 0, fewest = ~std::uint64_t(0), begin = 0;
    const auto consider = [&](std::uint64_t end) {
        if (end - begin < bytes) return;
        const std::uint64_t missing = count_missing(pool.granules, Range(begin, bytes));
        if (missing < fewest) best = begin, fewest = missing;
    };
    for (const auto& [offset, size] : pool.placed) {
        consider(offset);
        begin = offset + size;
    }
    consider(~std::uint64_t(0));
    return best;
}

/// The caller must hold a ServerLock.
void change_granules(Pool& pool, Granules granules) {
    own_use(pool.device).pool_bytes += (granules.size() - pool.granules.size()) * pool_granule;  // modulo 2^64
    pool.granules = std::move(granules);
    pool.reserved_high = std::max(pool.reserved_high, pool.reserved());
}

/// Releases granules without an allocation, until at most `most` granules are left.
void drop_unoccupied(Granules& granules, const Granules& occupied, std::uint64_t most) {
    for (auto k = granules.begin(); k != granules.end() && granules.size() > most;)
        k = occupied.contains(*k) ? std::next(k) : granules.erase(k);
}

/// Gets memory for an allocation at `offset` from the device. If the device or the limit refuses, remaps the memory of
/// granules without an allocation. Measured: a pool with a limit refuses a request beyond it immediately, and keeps
/// nothing; the limit counts in granules. After a failed request, a pool without a limit holds all free memory.
bool grow(Pool& pool, std::uint64_t offset, std::uint64_t bytes) {
    Granules granules = pool.granules, in_use = occupied(pool);
    for (Range range(offset, bytes); range.first < range.end; ++range.first)
        granules.insert(range.first), in_use.insert(range.first);
    const std::uint64_t limit = pool.max_bytes ? round_up(pool.max_bytes, pool_granule) / pool_granule : ~0ull;
    if (in_use.size() > limit) return false;
    ServerLock locked;
    const std::uint64_t possible = pool.granules.size() + free_bytes(pool.device) / pool_granule;
    const bool fits = in_use.size() <= possible;
    if (fits) {
        drop_unoccupied(granules, in_use, std::min(limit, possible));
    } else {
        granules = pool.granules;
        if (pool.release_threshold > pool.reserved())
            for (std::uint64_t k = 0; granules.size() < possible; ++k) granules.insert(k);
    }
    change_granules(pool, std::move(granules));
    return fits;
}

/// The last kernel on each stream, if kernels block the host's access to all managed memory.
Clock& kernels() {
    static auto& clock = *new Clock;
    return clock;
}

/// Gives the host the access to managed memory for which it has synchronized.
void update_host_access() {
    const Clock& host = host_clock();
    const bool idle =
        std::ranges::all_of(kernels().of_stream, [&](const auto& last) { return host.knows(last.first, last.second); });
    for (auto& [begin, a] : allocations()) {
        if (!a.managed) continue;
        const HostAccess allowed = idle ? a.uses.allowed(host) : HostAccess::none;
        if (allowed != a.host) set_access(a.mapped_begin, a.mapped_bytes, allowed);
        a.host = allowed;
    }
}

}  // namespace

std::uint64_t Pool::reserved() const { return granules.size() * pool_granule; }

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
    const std::uint64_t offset = find_offset(pool, in_pool(bytes));
    if (!grow(pool, offset, in_pool(bytes))) return cu::out_of_memory;
    pool.placed[offset] = in_pool(bytes);
    pool.used += in_pool(bytes);
    pool.used_high = std::max(pool.used_high, pool.used);
    Allocation& a = map_allocation(pool.device, bytes);
    a.device = pool.device;
    a.pool = &pool;
    a.offset = offset;
    set_access(a.mapped_begin, a.mapped_bytes, HostAccess::none);
    *address = a.begin;
    return cu::success;
}

cu::Result allocate_managed(int device, std::uint64_t bytes, cu::DevicePtr* address) {
    const std::uint64_t taken = round_up(bytes, managed_granule);
    {
        ServerLock locked;
        // Refused here, because it can hang a GPU: a real driver lets managed memory exceed the device's memory.
        if (taken > free_bytes(device)) return cu::out_of_memory;
        own_use(device).managed_bytes += taken;
    }
    Allocation& a = map_allocation(managed_arena, bytes);
    a.device = device;
    a.managed = true;
    a.host = HostAccess::all;
    update_host_access();
    *address = a.begin;
    return cu::success;
}

cu::Result allocate_plain(int device, std::uint64_t bytes, cu::DevicePtr* address) {
    static int count = 0;
    const std::uint64_t taken = round_up(bytes, managed_granule);
    {
        ServerLock locked;
        if (taken > free_bytes(device)) return cu::out_of_memory;
        own_use(device).managed_bytes += taken;
    }
    Allocation& a = map_allocation(device, bytes);
    a.device = device;
    a.file = setting("SIMGPU_STATE", "/dev/shm/simgpu.state") + ".memory." + std::to_string(getpid()) + '.' +
             std::to_string(++count);
    map_file(a.mapped_begin, a.mapped_bytes, a.file, true);
    std::memset(reinterpret_cast<void*>(a.begin), 0xFF, std::min(bytes, poisoned_bytes));
    set_access(a.mapped_begin, a.mapped_bytes, HostAccess::none);
    *address = a.begin;
    return cu::success;
}

namespace {

/// The contents of an IPC handle.
struct Exported {
    int process, device;
    std::uint64_t bytes;
    char file[48];
};
static_assert(sizeof(Exported) == sizeof(cu::IpcHandle));

}  // namespace

cu::Result export_memory(const Allocation& allocation, cu::IpcHandle* handle) {
    if (allocation.file.empty() || allocation.imported) return cu::invalid_value;  // of a pool, as measured
    Exported exported{getpid(), allocation.device, allocation.bytes, {}};
    if (allocation.file.size() >= sizeof exported.file) broken("SIMGPU_STATE is too long a name to share memory");
    std::strcpy(exported.file, allocation.file.c_str());
    std::memcpy(handle, &exported, sizeof exported);
    return cu::success;
}

cu::Result import_memory(int device, const cu::IpcHandle& handle, cu::DevicePtr* address) {
    Exported exported;
    std::memcpy(&exported, &handle, sizeof exported);
    if (exported.process == getpid()) return cu::invalid_context;
    if (exported.device != device && is_set("SIMGPU_NO_PEER")) return cu::peer_access_unsupported;
    if (access(exported.file, R_OK) != 0) return cu::invalid_value;
    Allocation& a = map_allocation(device, exported.bytes);
    a.device = device, a.file = exported.file, a.imported = true;
    map_file(a.mapped_begin, a.mapped_bytes, a.file, false);
    set_access(a.mapped_begin, a.mapped_bytes, HostAccess::none);
    *address = a.begin;
    return cu::success;
}

void note_use(Allocation& allocation, const Stream& stream, const char* what, std::uintptr_t begin, std::uintptr_t end,
              bool write) {
    allocation.uses.note(stream, what, begin, end, write);
    if (allocation.managed) update_host_access();
}

void note_kernel(const Stream& stream) {
    if (!is_set("SIMGPU_NO_CONCURRENT_MANAGED")) return;
    kernels().of_stream[stream.id] = stream.pushed;
    update_host_access();
}

void note_synchronization() { update_host_access(); }

void release(std::uintptr_t begin) {
    const Allocation a = allocations().at(begin);
    allocations().erase(begin);
    if (a.file.empty())
        drop_pages(a.mapped_begin, a.mapped_bytes);
    else
        unmap_file(a.mapped_begin, a.mapped_bytes);
    if (a.imported) return;
    if (!a.file.empty()) unlink(a.file.c_str());
    if (!a.pool) {
        ServerLock locked;
        own_use(a.device).managed_bytes -= round_up(a.bytes, managed_granule);
        return;
    }
    Pool& pool = *a.pool;
    pool.used -= in_pool(a.bytes);
    pool.placed.erase(a.offset);
    trim(pool, pool.release_threshold);
}

void trim(Pool& pool, std::uint64_t keep) {
    if (keep >= pool.reserved()) return;
    Granules granules = pool.granules;
    drop_unoccupied(granules, occupied(pool), round_up(keep, pool_granule) / pool_granule);
    const ServerLock locked;
    change_granules(pool, std::move(granules));
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

/// A pool with live allocations stays until they are freed. Measured: if the context is released first, they stay until
/// the process ends.
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
