// One thread for all leases of the process: started with the first lease, asleep while there is none.
//
// The list and the thread are never destroyed: a lease may live in a static object, and end after the static objects
// of this file. The thread is detached and blocks all signals, so that Ctrl-C reaches the threads that handle it.
// SPDX-License-Identifier: MIT
#include "gpu/lease/heartbeat.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "gpu/context_state.hpp"

namespace glint::gpu::lease {

struct Heartbeat::Entry {
    explicit Entry(std::function<void()> call) : beat(std::move(call)) {}
    const std::function<void()> beat;
    const pid_t process = ::getpid();
    std::recursive_mutex calling;  // recursive: the function may end its own entry
    bool ended = false;            // guarded by `calling`
};

namespace {

struct Beats {
    const pid_t process = ::getpid();
    std::mutex beating;  // held during a call
    std::mutex mutex;    // guards the members below
    std::condition_variable added;
    std::vector<std::shared_ptr<Heartbeat::Entry>> entries;
    bool running = false;

    [[noreturn]] void serve();
    /// Requires the mutex.
    void start() {
        if (running) return;
        sigset_t all, before;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before);
        try {
            std::thread([this] { serve(); }).detach();
            running = true;
        } catch (const std::system_error&) {
            // The leases are valid without the thread; the next lease tries again to start it.
        }
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
};

std::atomic<Beats*> current{nullptr};

void Beats::serve() {
    detail::is_heartbeat = true;
    for (;;) {
        std::vector<std::shared_ptr<Heartbeat::Entry>> now;
        {
            std::unique_lock lock(mutex);
            added.wait(lock, [&] { return !entries.empty(); });
            now = entries;
        }
        for (const auto& entry : now) {
            const std::lock_guard no_fork(beating);
            const std::lock_guard lock(entry->calling);
            if (!entry->ended) entry->beat();
        }
        now.clear();
        std::this_thread::sleep_for(std::chrono::duration<double>(Heartbeat::interval_s));
    }
}

/// Delays fork() during a call, which may hold the mutex of a lease: the child's copy would stay locked permanently.
thread_local Beats* locked_for_fork = nullptr;
void before_fork() {
    Beats* all = current;
    if (all && all->process == ::getpid() && !detail::is_heartbeat) all->beating.lock(), locked_for_fork = all;
}
void after_fork_in_parent() {
    if (Beats* all = std::exchange(locked_for_fork, nullptr)) all->beating.unlock();
}

/// Returns the list of this process. A forked child needs its own: it has none of its parent's threads, but perhaps a
/// mutex that one of them held.
Beats& beats() {
    Beats* all = current;
    while (!all || all->process != ::getpid()) {
        static const int registered = ::pthread_atfork(before_fork, after_fork_in_parent, nullptr);
        static_cast<void>(registered);  // out of memory: a fork may then happen during a call
        auto fresh = std::make_unique<Beats>();
        if (current.compare_exchange_strong(all, fresh.get())) return *fresh.release();
    }
    return *all;
}

}  // namespace

Heartbeat::Heartbeat(std::function<void()> beat) : entry_(std::make_shared<Entry>(std::move(beat))) {
    Beats& all = beats();
    const std::lock_guard lock(all.mutex);
    all.entries.push_back(entry_);
    all.start();
    all.added.notify_one();
}

Heartbeat::~Heartbeat() {
    if (::getpid() != entry_->process) return;
    Beats& all = beats();
    {
        const std::lock_guard lock(all.mutex);
        std::erase(all.entries, entry_);
    }
    const std::lock_guard lock(entry_->calling);
    entry_->ended = true;
}

}  // namespace glint::gpu::lease
