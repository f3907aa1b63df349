// Giving memory back: in stream order, or when the host has waited; later, where that is not possible now.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "gpu/pool.hpp"

namespace glint::gpu::detail {
namespace {

void free_in_order(ContextState& home, const ParkedFree& due) {
    StreamState& on = *due.users.front();
    for (std::size_t k = 1; k < due.users.size(); ++k)
        if (!due.users[k]->home().released) on.wait_for(*due.users[k]);
    const Current current(home);
    home.check(home.driver->cuMemFreeAsync(due.address, on.stream), "cuMemFreeAsync");
}

void free_waiting(ContextState& home, const ParkedFree& due) {
    for (const auto& user : due.users) {
        if (user->home().released) continue;
        const Current current(user->home());
        user->home().check(home.driver->cuStreamSynchronize(user->stream), "cuStreamSynchronize");
    }
    const Current current(home);
    home.check(home.driver->cuMemFree(due.address), "cuMemFree");
}

/// A free in stream order must not get into somebody's graph; one that waits would spoil any capture.
bool capture_forbids(ContextState& home, const ParkedFree& due) {
    const auto captured = [](const auto& stream) { return !stream->home().released && stream->capturing(); };
    if (std::any_of(due.users.begin(), due.users.end(), captured)) return true;
    if (due.kind == Kind::pooled) return false;
    const auto streams = home.all_streams();
    return std::any_of(streams.begin(), streams.end(), captured);
}

void free_or_park(ContextState& home, ParkedFree due) noexcept {
    try {
        if (!capture_forbids(home, due))
            return due.kind == Kind::pooled ? free_in_order(home, due) : free_waiting(home, due);
    } catch (const std::exception&) {
        // The GPU is lost, or will be, which the next call shows; else a later attempt, or closing, frees it.
    }
    const std::lock_guard lock(home.mutex);
    home.parked.push_back(std::move(due));
}

}  // namespace

void give_back(ContextState& home, ParkedFree due) noexcept {
    uncount_live(home, due.bytes, due.kind);
    free_or_park(home, std::move(due));
}

void drain_parked(ContextState& home) noexcept {
    std::vector<ParkedFree> due;
    {
        const std::lock_guard lock(home.mutex);
        due.swap(home.parked);
    }
    for (ParkedFree& one : due) free_or_park(home, std::move(one));
}

}  // namespace glint::gpu::detail
