// Releasing a context: what is synchronized first, and the order of destruction.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "gpu/allocation.hpp"

namespace glint::gpu::detail {
namespace {

std::mutex close_mutex;  // no context is released while another one waits for its streams

/// Streams of other contexts may still use memory that is about to be freed.
void wait_for_other_contexts(ContextState& home) noexcept {
    std::vector<std::shared_ptr<StreamState>> users;
    {
        const std::lock_guard lock(home.mutex);
        const auto add = [&](const std::vector<std::shared_ptr<StreamState>>& more) {
            std::copy_if(more.begin(), more.end(), std::back_inserter(users),
                         [&](const auto& stream) { return &stream->home() != &home; });
        };
        for (const auto& [rank, resource] : home.resources)
            if (rank == Resource::Rank::allocation) add(static_cast<Allocation*>(resource)->users());
        for (const DeferredFree& due : home.deferred_frees) add(due.users);
    }
    const std::lock_guard lock(close_mutex);
    for (const auto& user : users) {
        if (user->home().released) continue;  // it synchronized its streams when it was released
        const Current current(user->home(), std::nothrow);
        home.driver->cuStreamSynchronize(user->stream);
    }
}

}  // namespace

void ContextState::close() noexcept {
    if (forked()) {
        // A forked child must not touch the parent's driver state, and has none of the parent's threads.
        released = true;
        if (staging) staging->abandon();
        return;
    }
    if (!context) {
        released = true;
        return;
    }
    if (account) account->close();
    // Destroyed after the mutex is released, because destructors of streams and of objects owned by callbacks lock the
    // mutex.
    std::vector<DeferredFree> dropped;
    std::vector<std::function<std::uint64_t()>> callbacks;
    std::map<void*, std::size_t> pages;
    {
        const Current current(*this, std::nothrow);
        for (const auto& stream : all_streams()) driver->cuStreamSynchronize(stream->stream);
        wait_for_retired();
        wait_for_other_contexts(*this);
        staging.reset();
        {
            const std::lock_guard ending(close_mutex);
            released = true;
        }
        const std::lock_guard lock(mutex);
        for (const DeferredFree& due : deferred_frees) {
            if (due.kind == Kind::pooled)
                driver->cuMemFreeAsync(due.address, due.users.front()->stream);
            else
                driver->cuMemFree(due.address);
        }
        dropped.swap(deferred_frees);
        callbacks.swap(on_pressure);
        pages.swap(pinned);
        drop_resources();
        for (const auto& [memory, bytes] : pages) driver->cuMemHostUnregister(memory);
        for (auto& events : spare_events) {
            for (const cu::Event event : events) driver->cuEventDestroy(event);
            events.clear();
        }
        if (pool) driver->cuMemPoolDestroy(pool);
        counters.live = 0, counters.managed = 0, counters.pinned = 0;
    }
    if (separate) {
        note_separate_context(ordinal, -1);
        driver->cuCtxDestroy(context);
    } else {
        driver->cuDevicePrimaryCtxRelease(device);
    }
}

void ContextState::drop_finished_streams() noexcept {
    std::erase_if(retired, [&](cu::Stream stream) {
        if (driver->cuStreamQuery(stream) == cu::not_ready) return false;
        driver->cuStreamDestroy(stream);
        return true;
    });
}

void ContextState::wait_for_retired() noexcept {
    std::vector<cu::Stream> waited_for;
    {
        const std::lock_guard lock(mutex);
        waited_for.swap(retired);
    }
    if (waited_for.empty()) return;
    const Current current(*this, std::nothrow);
    for (const cu::Stream stream : waited_for) {
        driver->cuStreamSynchronize(stream);
        driver->cuStreamDestroy(stream);
    }
}

void ContextState::drop_resources() noexcept {
    bool memory_freed = false;
    for (const auto& [rank, resource] : resources) {
        if (rank != Resource::Rank::allocation && !memory_freed) {
            // The frees are enqueued in streams. A pool that is destroyed before they execute keeps its memory until
            // the process ends.
            for (const auto& [stream, weak] : streams) driver->cuStreamSynchronize(stream->stream);
            memory_freed = true;
        }
        resource->drop();
    }
    resources.clear();
}

}  // namespace glint::gpu::detail
