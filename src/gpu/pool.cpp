// The pool: taking, giving back in stream order, and the ladder of what is tried before an allocation fails.
// SPDX-License-Identifier: MIT
#include "gpu/pool.hpp"

#include "gpu/text.hpp"

namespace glint::gpu::detail {
namespace {

/// Null when there is no room.
cu::DevicePtr try_to_take(StreamState& stream, std::size_t bytes) {
    ContextState& home = stream.home();
    if (!count_live(home, bytes)) return 0;
    const Current current(home);
    cu::DevicePtr address = 0;
    const cu::Result result = home.driver->cuMemAllocFromPoolAsync(&address, bytes, home.pool, stream.stream);
    if (result == cu::success) return address;
    uncount_live(home, bytes);
    if (result != cu::out_of_memory) home.check(result, "cuMemAllocFromPoolAsync");
    return 0;
}

void drop_caches(ContextState& home) {
    drain_parked(home);
    const Current current(home);
    const std::lock_guard lock(home.mutex);
    for (auto& events : home.spare_events) {
        for (const cu::Event event : events) home.driver->cuEventDestroy(event);
        events.clear();
    }
}

/// All but streams being captured: waiting for one would spoil the capture.
void wait_for_all(ContextState& home) {
    for (const auto& stream : home.all_streams())
        if (!stream->capturing()) stream->synchronize();
}

void ask_the_caller(ContextState& home) {
    std::vector<std::function<std::uint64_t()>> callbacks;
    {
        const std::lock_guard lock(home.mutex);
        callbacks = home.on_pressure;
    }
    std::uint64_t freed = 0;
    for (const auto& callback : callbacks) freed += callback();
    if (freed == 0) return;
    home.say(text("the caller freed ", bytes_text(freed)));
    wait_for_all(home);
    trim(home);
}

struct Rung {
    const char* name;
    void (*climb)(ContextState&);
};
constexpr Rung ladder[] = {{"frees that were put off, and caches", drop_caches},
                           {"waiting for all streams", wait_for_all},
                           {"trimming the pool", trim},
                           {"asking the caller", ask_the_caller}};

/// True when it is freed.
bool free_in_order(ContextState& home, const ParkedFree& due) {
    StreamState& on = *due.users.front();
    for (const auto& user : due.users)
        if (!user->home().released && user->capturing()) return false;
    for (std::size_t k = 1; k < due.users.size(); ++k)
        if (!due.users[k]->home().released) on.wait_for(*due.users[k]);
    const Current current(home);
    home.check(home.driver->cuMemFreeAsync(due.address, on.stream), "cuMemFreeAsync");
    on.freed += due.bytes;
    return true;
}

}  // namespace

bool count_live(ContextState& home, std::size_t bytes) noexcept {
    std::uint64_t live = home.counters.live;
    do {
        if (bytes > home.limit || live > home.limit - bytes) return false;
    } while (!home.counters.live.compare_exchange_weak(live, live + bytes));
    std::uint64_t peak = home.counters.peak;
    while (peak < live + bytes && !home.counters.peak.compare_exchange_weak(peak, live + bytes)) {
    }
    return true;
}

void uncount_live(ContextState& home, std::size_t bytes) noexcept { home.counters.live -= bytes; }

cu::DevicePtr take(StreamState& stream, std::size_t bytes) {
    ContextState& home = stream.home();
    if (bytes > home.limit) throw_out_of_memory(home, bytes, "work in smaller chunks, or raise the limit");
    if (const cu::DevicePtr address = try_to_take(stream, bytes)) return address;
    for (const Rung& rung : ladder) {
        home.say(text(home.label(), ": no room for ", bytes_text(bytes), "; trying: ", rung.name));
        rung.climb(home);
        ++home.counters.retries;
        if (const cu::DevicePtr address = try_to_take(stream, bytes)) return address;
    }
    throw_out_of_memory(home, bytes,
                        "free buffers, work in smaller chunks, raise the limit, or wait for other processes");
}

void throw_out_of_memory(ContextState& home, std::size_t bytes, const char* advice) {
    throw OutOfMemory(cu::out_of_memory,
                      text(home.label(), ": ", bytes_text(bytes), " asked for; ", bytes_text(home.counters.live),
                           " in use of a limit of ", bytes_text(home.limit), "; ", bytes_text(free_on_device(home)),
                           " free on the device: ", advice),
                      bytes);
}

void give_back(ContextState& home, ParkedFree due) noexcept {
    uncount_live(home, due.bytes);
    home.counters.deferred += due.bytes;
    try {
        if (free_in_order(home, due)) return;
        const std::lock_guard lock(home.mutex);
        home.parked.push_back(std::move(due));
    } catch (const std::exception&) {
        // The GPU is lost, or will be: what went wrong shows at the next call, and closing frees what can be freed.
        home.counters.deferred -= due.bytes;
    }
}

void drain_parked(ContextState& home) noexcept {
    std::vector<ParkedFree> due;
    {
        const std::lock_guard lock(home.mutex);
        due.swap(home.parked);
    }
    for (ParkedFree& one : due) {
        home.counters.live += one.bytes;  // give_back takes both off again
        home.counters.deferred -= one.bytes;
        give_back(home, std::move(one));
    }
}

void trim(ContextState& home) {
    const Current current(home);
    home.check(home.driver->cuMemPoolTrimTo(home.pool, 0), "cuMemPoolTrimTo");
    ++home.counters.trims;
}

std::uint64_t reserved_bytes(ContextState& home) {
    std::uint64_t bytes = 0;
    if (home.released || forked() || !home.pool || !lost_note(home.ordinal).empty()) return 0;
    const Current current(home);
    home.check(home.driver->cuMemPoolGetAttribute(home.pool, cu::pool_reserved_current, &bytes),
               "cuMemPoolGetAttribute");
    return bytes;
}

std::uint64_t free_on_device(ContextState& home) {
    const Current current(home);
    std::size_t free = 0, total = 0;
    home.check(home.driver->cuMemGetInfo(&free, &total), "cuMemGetInfo");
    return free;
}

}  // namespace glint::gpu::detail
