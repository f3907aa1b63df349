// Frees device memory: in stream order, or after synchronizing; deferred if a graph capture forbids both.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "gpu/pool.hpp"

namespace glint::gpu::detail {
namespace {

void free_in_stream_order(ContextState& home, const DeferredFree& due) {
    StreamState& on = *due.users.front();
    for (std::size_t k = 1; k < due.users.size(); ++k)
        if (!due.users[k]->home().released) on.wait_for(*due.users[k]);
    const Current current(home);
    home.check(home.driver->cuMemFreeAsync(due.address, on.stream), "cuMemFreeAsync");
}

void free_synchronously(ContextState& home, const DeferredFree& due) {
    for (const auto& user : due.users) {
        if (user->home().released) continue;
        const Current current(user->home());
        user->home().check(home.driver->cuStreamSynchronize(user->stream), "cuStreamSynchronize");
    }
    const Current current(home);
    home.check(home.driver->cuMemFree(due.address), "cuMemFree");
}

/// A stream-ordered free must not be captured into a graph of the caller, and a free that synchronizes would invalidate
/// any capture.
bool capture_forbids_free(ContextState& home, const DeferredFree& due) {
    const auto captured = [](const auto& stream) { return !stream->home().released && stream->capturing(); };
    if (std::any_of(due.users.begin(), due.users.end(), captured)) return true;
    if (due.kind == Kind::pooled) return false;
    const auto streams = home.all_streams();
    return std::any_of(streams.begin(), streams.end(), captured);
}

void free_or_defer(ContextState& home, DeferredFree due) noexcept {
    try {
        if (!capture_forbids_free(home, due))
            return due.kind == Kind::pooled ? free_in_stream_order(home, due) : free_synchronously(home, due);
    } catch (const std::exception&) {
        // If the GPU is lost, the next call throws. Otherwise, a later attempt or close() frees the memory.
    }
    const std::lock_guard lock(home.mutex);
    home.deferred_frees.push_back(std::move(due));
}

}  // namespace

void free_memory(ContextState& home, DeferredFree due) noexcept {
    uncount_live(home, due.bytes, due.kind);
    free_or_defer(home, std::move(due));
}

void retry_deferred_frees(ContextState& home) noexcept {
    std::vector<DeferredFree> due;
    {
        const std::lock_guard lock(home.mutex);
        due.swap(home.deferred_frees);
    }
    for (DeferredFree& one : due) free_or_defer(home, std::move(one));
}

}  // namespace glint::gpu::detail
