// Allocation of device memory under the limit, and the fallbacks before an allocation fails.
//
// The context's CUDA pool (cudaMallocAsync's mechanism) serves Buffers in stream order and enforces the limit for them
// by its max_size. Managed memory comes from the driver directly, so glint enforces the limit over the sum of both with
// atomic counters (Counters::live), which are reserved before and rolled back after a failed allocation.
//
// Reasons for our own pool with max_size, instead of the device's default pool:
// - Without max_size, a failed request of 200 GiB leaves 143 GB in a pool, and releasing the primary context does not
//   return them. Every other process on the GPU then fails until this one exits.
// - A pool with max_size refuses immediately and keeps nothing.
//
// The pool grows by 32 MiB, so it may hold slightly more than max_size (128 MiB for a max_size of 100 MiB). It keeps
// freed memory for the next allocation (its release threshold is unlimited) until a trim. A pool that is destroyed with
// memory still allocated keeps that memory until the process ends: see close.cpp for the order.
// SPDX-License-Identifier: MIT
#include "gpu/pool.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::detail {
namespace {

/// Returns an attribute of the pool; 0 if the driver must not be called: after close(), in a forked child, on a lost
/// GPU. So this function can be called at any time, for statistics and error messages.
std::uint64_t pool_bytes(ContextState& home, int which) {
    std::uint64_t bytes = 0;
    if (home.released || forked() || !home.pool || !lost_reason(home.ordinal).empty()) return 0;
    const Current current(home);
    home.check(home.driver->cuMemPoolGetAttribute(home.pool, which, &bytes), "cuMemPoolGetAttribute");
    return bytes;
}

/// Reserves `bytes` in the counters. Returns false if the limit would be exceeded. Lock-free, since any thread may
/// allocate.
///
/// Counting before allocating avoids a race of two threads that both find room for the same allocation. The comparison
/// cannot overflow for any `bytes`; the limit itself may be lowered at any time (Context::lower_limit).
bool count_live(ContextState& home, std::size_t bytes, Kind kind) noexcept {
    std::uint64_t live = home.counters.live;
    do {
        if (bytes > home.limit || live > home.limit - bytes) return false;
    } while (!home.counters.live.compare_exchange_weak(live, live + bytes));
    if (kind != Kind::pooled) home.counters.managed += bytes;
    std::uint64_t peak = home.counters.peak;
    while (peak < live + bytes && !home.counters.peak.compare_exchange_weak(peak, live + bytes)) {
    }
    return true;
}

/// Whether pooled and managed memory together stay within the limit. The pool may hold unused memory beyond its live
/// buffers, so it is trimmed if that memory is needed. The pool's own max_size does not include managed memory.
bool fits_under_limit(ContextState& home, std::size_t pooled, std::uint64_t managed) {
    if (std::max(reserved_bytes(home), used_bytes(home) + pooled) + managed > home.limit) trim(home);
    return used_bytes(home) + pooled + managed <= home.limit;
}

/// One attempt. Null: out of memory; other errors are thrown. Without managed memory, the common case, the pool's
/// attributes are not queried: max_size and the counter suffice.
cu::DevicePtr try_pool(StreamState& stream, std::size_t bytes) {
    ContextState& home = stream.home();
    if (const std::uint64_t managed = home.counters.managed; managed > 0 && !fits_under_limit(home, bytes, managed))
        return 0;
    if (!count_live(home, bytes, Kind::pooled)) return 0;
    const Current current(home);
    cu::DevicePtr address = 0;
    const cu::Result result = home.driver->cuMemAllocFromPoolAsync(&address, bytes, home.pool, stream.stream);
    if (result == cu::success) return address;
    // An out-of-memory error is not sticky: the context stays usable, and the caller tries again after a fallback.
    uncount_live(home, bytes, Kind::pooled);
    if (result != cu::out_of_memory) home.check(result, "cuMemAllocFromPoolAsync");
    return 0;
}

/// One attempt; null: out of memory. The driver overcommits managed memory, and kernels may hang when they use it, so
/// glint compares with the free memory itself. The free memory alone is not enough: managed pages that are on the host
/// now take no device memory yet, but will. So the sum of all allocations is compared with the memory that was free
/// at the start.
cu::DevicePtr try_outside_pool(ContextState& home, std::size_t bytes, Kind kind) {
    if (!fits_under_limit(home, 0, home.counters.managed + bytes)) return 0;
    if (bytes > free_on_device(home)) trim(home);
    if (bytes > free_on_device(home) || home.counters.live + managed_by_others(home) + bytes > home.free_at_start)
        return 0;
    if (!count_live(home, bytes, kind)) return 0;
    const Current current(home);
    cu::DevicePtr address = 0;
    const bool managed = kind == Kind::managed;
    const cu::Result result = managed ? home.driver->cuMemAllocManaged(&address, bytes, cu::attach_global)
                                      : home.driver->cuMemAlloc(&address, bytes);
    if (result == cu::success) return address;
    uncount_live(home, bytes, kind);
    if (result != cu::out_of_memory) home.check(result, managed ? "cuMemAllocManaged" : "cuMemAlloc");
    return 0;
}

/// The first fallback: frees what was deferred during a capture, and the cached events.
void drop_caches(ContextState& home) {  // cached events take device memory too
    retry_deferred_frees(home);
    const Current current(home);
    const std::lock_guard lock(home.mutex);
    for (auto& events : home.spare_events) {
        for (const cu::Event event : events) home.driver->cuEventDestroy(event);
        events.clear();
    }
}

/// Makes stream-ordered frees take effect: until the device has executed them, the memory is in use. Skips streams
/// being captured, because a wait would invalidate the capture.
void synchronize_all_streams(ContextState& home) {
    for (const auto& stream : home.all_streams())
        if (!stream->capturing()) stream->synchronize();
    home.wait_for_retired();
}

/// The last fallback: asks the application, and trims if it has freed anything. The callbacks' frees are in stream
/// order too: the trim returns only memory that the device has freed already.
void ask_the_caller(ContextState& home) {
    if (call_pressure_callbacks(home) == 0) return;
    synchronize_all_streams(home);
    trim(home);
}

/// Prevents recursion: a callback may itself allocate and fail. RAII, because it may throw, to its caller.
thread_local bool asking = false;
struct Asking {
    Asking() { asking = true; }
    ~Asking() { asking = false; }
};

/// The callbacks of the process. Never destroyed: a context may live in a static object.
struct ProcessCallbacks {
    std::mutex mutex;
    std::vector<std::function<bool()>> all;
};
ProcessCallbacks& process_callbacks() {
    static auto* const callbacks = new ProcessCallbacks;
    return *callbacks;
}

/// Bytes used by buffers, including managed memory.
std::uint64_t used_in_all(ContextState& home) { return used_bytes(home) + home.counters.managed; }

/// In order of increasing cost: bookkeeping, blocking the host, losing the pool's cache (4 ms to trim 4 GiB, 140 ms for
/// 143 GB, and it grows again with the next allocations), asking the application.
struct FallbackStep {
    const char* name;
    void (*run)(ContextState&);
    std::uint64_t (*measure)(ContextState&);  ///< what the step reduces
};
constexpr FallbackStep fallback_steps[] = {{"deferred frees and caches", drop_caches, used_in_all},
                                           {"waiting for all streams", synchronize_all_streams, used_in_all},
                                           {"trimming the pool", trim, reserved_bytes},
                                           {"the program's callbacks", ask_the_caller, used_in_all}};

/// Runs the step. Returns the freed bytes and the duration as text for the log; empty if nothing was freed.
std::string run_and_describe(const FallbackStep& step, ContextState& home) {
    const Clock::time_point began = Clock::now();
    const std::uint64_t before = step.measure(home);
    step.run(home);
    const std::uint64_t freed = before - std::min(before, step.measure(home));
    return freed == 0 ? ""
                      : text(step.name, " freed ", bytes_text(freed), " in ", milliseconds_text(seconds_since(began)));
}

/// Tries to allocate, and tries again after each fallback. Throws OutOfMemory with the bytes requested, in use and
/// free. The log gets one line with the steps that freed memory; the allocation succeeded after the last of these.
cu::DevicePtr allocate_with_fallbacks(ContextState& home, std::size_t bytes,
                                      const std::function<cu::DevicePtr()>& attempt) {
    // No fallback can help.
    if (bytes > home.limit) throw_out_of_memory(home, bytes);
    if (const cu::DevicePtr address = attempt()) return address;
    std::string freed;
    const auto log = [&](const char* outcome) {
        if (!freed.empty())
            home.say(text(home.label(), ": out of memory for ", bytes_text(bytes), ": ", freed, outcome));
    };
    for (const FallbackStep& step : fallback_steps) {
        const std::string words = run_and_describe(step, home);
        if (!words.empty()) freed += (freed.empty() ? "" : ", ") + words;
        ++home.counters.retries;
        if (const cu::DevicePtr address = attempt()) {
            log("; the allocation succeeded");
            return address;
        }
    }
    log("; the allocation failed");
    trim(home);  // after a failed request the pool keeps all memory that it could get: return that to other processes
    throw_out_of_memory(home, bytes);
}

}  // namespace

std::uint64_t call_pressure_callbacks(ContextState& home) {
    if (asking) return 0;
    std::vector<std::function<std::uint64_t()>> callbacks;
    {
        const std::lock_guard lock(home.mutex);
        callbacks = home.on_pressure;
    }
    std::uint64_t freed = 0;
    {
        const Asking now;
        for (const auto& callback : callbacks) freed += callback();
    }
    const std::uint64_t live = home.counters.live;
    call_pressure_callbacks();
    const std::uint64_t still_live = home.counters.live;
    freed += live - std::min(live, still_live);
    return freed;
}

bool call_pressure_callbacks() {
    if (asking || is_heartbeat) return false;
    std::vector<std::function<bool()>> callbacks;
    {
        ProcessCallbacks& known = process_callbacks();
        const std::lock_guard lock(known.mutex);
        callbacks = known.all;
    }
    const Asking now;
    bool found = false;
    for (const auto& callback : callbacks) found |= callback();
    return found;
}

// Called when the free is enqueued, not when the device executes it: `live` is what the program holds.
void uncount_live(ContextState& home, std::size_t bytes, Kind kind) noexcept {
    home.counters.live -= bytes;
    if (kind != Kind::pooled) home.counters.managed -= bytes;
}

cu::DevicePtr allocate_pooled(StreamState& stream, std::size_t bytes) {
    return allocate_with_fallbacks(stream.home(), bytes, [&] { return try_pool(stream, bytes); });
}

cu::DevicePtr allocate_outside_pool(ContextState& home, std::size_t bytes, Kind kind) {
    return allocate_with_fallbacks(home, bytes, [&] { return try_outside_pool(home, bytes, kind); });
}

// OutOfMemory::beyond_limit distinguishes two causes. If the limit is too small for the work, waiting cannot help. If
// other processes hold the memory, it may.
void throw_out_of_memory(ContextState& home, std::size_t bytes) {
    const std::uint64_t live = home.counters.live, limit = home.limit, free = free_on_device(home);
    const bool beyond_limit = bytes > limit || live > limit - bytes;
    const char* advice = bytes > limit  ? "work in smaller chunks, or raise the limit"
                         : beyond_limit ? "free buffers, work in smaller chunks, or raise the limit"
                                        : "free buffers, work in smaller chunks, or wait for other processes";
    throw OutOfMemory(
        cu::out_of_memory,
        text(home.label(), ": ", bytes_text(bytes), " asked for; ", bytes_text(live), " in use of a limit of ",
             bytes_text(limit), "; ", bytes_text(free), " free on the device: ", advice),
        bytes, beyond_limit, free);
}

// Returns all unused memory to the device. Memory whose free the device has not executed yet stays.
void trim(ContextState& home) {
    const auto release = [&] {
        const Current current(home);
        home.check(home.driver->cuMemPoolTrimTo(home.pool, 0), "cuMemPoolTrimTo");
        ++home.counters.trims;
    };
    home.account ? home.account->give_back(release) : release();
    const std::uint64_t reserved = reserved_bytes(home), used = used_bytes(home);
    home.left_by_trim = reserved - std::min(reserved, used);
}

std::uint64_t reserved_bytes(ContextState& home) { return pool_bytes(home, cu::pool_reserved_current); }
std::uint64_t used_bytes(ContextState& home) { return pool_bytes(home, cu::pool_used_current); }

std::uint64_t free_on_device(ContextState& home) {
    const Current current(home);
    std::size_t free = 0, total = 0;
    home.check(home.driver->cuMemGetInfo(&free, &total), "cuMemGetInfo");
    return free;
}

}  // namespace glint::gpu::detail

namespace glint::gpu {

void on_pressure(std::function<bool()> callback) {
    auto& known = detail::process_callbacks();
    const std::lock_guard lock(known.mutex);
    known.all.push_back(std::move(callback));
}

}  // namespace glint::gpu
