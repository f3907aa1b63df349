// Early reclaim: returns unused pool memory to the device while memory is short, before an allocation fails.
//
// Memory is short when the context's limit is nearly used up, when the device is nearly full, and while another request
// waits for the device. The amount that counts is what the pool has allocated from the device, including what buffers
// do not use: other processes cannot use that either.
//
// It runs when the host has synchronized anyway, because a trim frees nothing that the device still uses. It also runs
// once a second (lease/heartbeat.hpp), for a program that does not synchronize. Its cost is bounded relative to run
// time: the next reclaim waits for a multiple of the duration of the last one. (A trim takes 4 ms for 4 GiB and 140 ms
// for 143 GB; growing again takes about as long.) A pool returns whole granules in which nothing is allocated. The next
// trim therefore needs at least one granule of unused memory more than the last one left, and a trim that freed nothing
// doubles the wait.
//
// relieve_pressure() also calls the callbacks (Context::on_pressure) early, between two operations of the program.
// During an operation, at a synchronization, they might need a lock that the program holds.
// ContextOptions::early_reclaim and set_early_reclaim() switch both off.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "base/clock.hpp"
#include "gpu/pool.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::detail {
namespace {

constexpr double high_pressure = 0.75, urgent_pressure = 0.9;        // used / limit, and used / total on the device
constexpr double interval_factor = 50, interval_factor_urgent = 10;  // at most 1/50, 1/10 of the time
constexpr double max_doubled_s = 0.1;                                // of attempts that freed nothing
// A call of the callbacks counts with at least this duration, so that there is at most one call per second: the program
// may immediately recreate objects that a callback drops.
constexpr double min_callback_s = 1 / interval_factor;
constexpr std::chrono::milliseconds outside_interval{100};

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

/// Returns how short memory is outside this context: the used share of the device, or 1 if another request waits.
/// Queries the driver, and perhaps the directory of leases, at most ten times a second.
double pressure_outside(ContextState& home) {
    {
        const std::lock_guard lock(home.mutex);
        const Clock::time_point now = Clock::now();
        if (now - home.looked_outside < outside_interval) return home.pressure_outside;
        home.looked_outside = now;
    }
    double pressure = 1 - double(free_on_device(home)) / double(home.total_on_device);
    if (pressure < urgent_pressure && home.account && home.account->is_wanted()) pressure = 1;
    const std::lock_guard lock(home.mutex);
    return home.pressure_outside = pressure;
}

/// Managed memory is outside the pool and counts in full.
double own_pressure(ContextState& home) {
    return double(reserved_bytes(home) + home.counters.managed) / double(home.limit);
}

/// Trims, and records the duration, from which is_affordable() computes the next time.
void reclaim(ContextState& home) {
    const auto began = Clock::now();
    const std::uint64_t before = reserved_bytes(home);
    trim(home);
    const std::uint64_t after = reserved_bytes(home), gave = before - std::min(before, after);
    const double took = seconds(Clock::now() - began);
    ++home.counters.early_reclaims, home.counters.early_reclaimed += gave;
    if (gave > 0)
        home.say(text(home.label(), ": gave ", bytes_text(gave), " back early, in ", milliseconds_text(took)));
    const std::lock_guard lock(home.mutex);
    home.reclaims.note(took, gave > 0);
}

/// Whether enough time has passed since the last attempt. The first one is always affordable.
bool is_affordable(ContextState& home, const Attempts& attempts, double factor) {
    const std::lock_guard lock(home.mutex);
    return attempts.seconds == 0 || seconds(Clock::now() - attempts.last) >= factor * attempts.seconds;
}

}  // namespace

void Attempts::note(double took, bool gave) {
    seconds = gave ? took : std::max(took, std::min(2 * seconds, max_doubled_s));
    last = Clock::now();
}

// Other threads may allocate between the two queries, so the difference may be negative. Memory that was unused before
// and is still unused may be in granules that have become empty since.
bool could_give_back(ContextState& home) {
    const std::uint64_t reserved = reserved_bytes(home), used = used_bytes(home);
    const std::uint64_t unused = reserved - std::min(reserved, used);
    std::uint64_t left = home.left_by_trim;
    while (unused < left && !home.left_by_trim.compare_exchange_weak(left, unused)) {
    }
    return unused >= left + pool_granule;
}

// Only requests of other processes are urgent. The context's own limit matters only when an allocation fails, which
// also costs a wait and a trim.
void reclaim_under_pressure(ContextState& home, bool wanted) {
    if (!home.reclaims_early() && !wanted) return;
    const double outside = wanted ? 1 : pressure_outside(home);
    const auto is_short = [&] { return std::max(outside, own_pressure(home)) >= high_pressure; };
    bool short_of_memory = is_short();
    const double factor = outside < urgent_pressure ? interval_factor : interval_factor_urgent;
    if (short_of_memory && could_give_back(home) && is_affordable(home, home.reclaims, factor)) {
        reclaim(home);
        short_of_memory = is_short();
    }
    home.short_of_memory = short_of_memory;
}

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
    reclaim_under_pressure(home, false);
}

std::uint64_t relieve_pressure(ContextState& home) {
    if (!home.reclaims_early() || !home.short_of_memory || !is_affordable(home, home.questions, interval_factor))
        return 0;
    const auto began = Clock::now();
    const std::uint64_t freed = call_pressure_callbacks(home);
    const double took = seconds(Clock::now() - began);
    if (freed > 0)
        home.say(text(home.label(), ": the program's callbacks freed ", bytes_text(freed), " early, in ",
                      milliseconds_text(took)));
    const std::lock_guard lock(home.mutex);
    home.questions.note(std::max(took, min_callback_s), freed > 0);
    return freed;
}

}  // namespace glint::gpu::detail
