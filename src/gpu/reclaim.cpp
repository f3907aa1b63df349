// Early reclaim: returns unused pool memory to the device under memory pressure, before an allocation fails.
//
// It runs only where the host has synchronized anyway, because a trim frees nothing that the device still uses. Its
// cost is bounded relative to run time: the next reclaim waits for a multiple of the duration of the last one. (A trim
// takes 4 ms for 4 GiB and 140 ms for 143 GB.) Without a garbage collector this is what early collection can be: an
// allocation that would fail costs a wait for all streams, a trim before it costs little. ContextOptions::early_reclaim
// turns it off for comparison.
// SPDX-License-Identifier: MIT
#include "gpu/pool.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::detail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double high_pressure = 0.75, urgent_pressure = 0.9;             // used / limit
constexpr double interval_factor_high = 50, interval_factor_urgent = 10;  // at most 1/50, 1/10 of the time
constexpr std::uint64_t reclaim_divisor = 32;                             // ignore less than limit / 32

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

/// Counts memory as used until the device has executed its free, so this falls only when a trim would help. Managed
/// memory is outside the pool and counts in full.
double pressure(ContextState& home) { return double(used_bytes(home) + home.counters.managed) / double(home.limit); }

/// Whether enough time has passed since the last reclaim, in multiples of its duration. The first one is always
/// affordable.
bool affordable(ContextState& home, double factor) {
    const std::lock_guard lock(home.mutex);
    const ReclaimHistory& history = home.reclaims;
    return history.seconds == 0 || seconds(Clock::now() - history.last) >= factor * history.seconds;
}

/// What a trim could return. Two queries, between which other threads allocate: the difference may be negative.
std::uint64_t unused_bytes(ContextState& home) {
    const std::uint64_t reserved = reserved_bytes(home), used = used_bytes(home);
    return reserved > used ? reserved - used : 0;
}

/// Trims, and records what that took, by which affordable() spaces the next one.
void reclaim(ContextState& home) {
    const auto began = Clock::now();
    const std::uint64_t before = reserved_bytes(home);
    trim(home);
    const std::uint64_t after = reserved_bytes(home);
    const double took = seconds(Clock::now() - began);
    ++home.counters.early_reclaims;
    home.say(text(home.label(), ": gave ", bytes_text(before > after ? before - after : 0), " back early, in ",
                  took * 1000, " ms"));
    const std::lock_guard lock(home.mutex);
    // Backoff: one that freed nothing counts tenfold.
    home.reclaims = {Clock::now(), before > after ? took : 10 * took};
}

}  // namespace

// Called after the host has waited for a stream or an event, without the mutex. Nothing here may block on the device
// again: retired streams are queried, not waited for.
void at_synchronization(ContextState& home) {
    bool waiting = false;  // deferred frees exist; retried without the mutex, which they take
    {
        const std::lock_guard lock(home.mutex);
        waiting = !home.deferred_frees.empty();
        if (!home.retired.empty()) {
            const Current current(home);
            home.drop_finished_streams();
        }
    }
    if (waiting) retry_deferred_frees(home);
    if (!home.early_reclaim) return;
    const double now = pressure(home);
    if (now < high_pressure || !affordable(home, now < urgent_pressure ? interval_factor_high : interval_factor_urgent))
        return;
    // Last, since it needs two calls of the driver; the tests before it nearly always end this.
    if (unused_bytes(home) >= std::max<std::uint64_t>(home.limit / reclaim_divisor, 1)) reclaim(home);
}

}  // namespace glint::gpu::detail
