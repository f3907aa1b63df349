// Starting threads on systems that may refuse them: `ulimit -u`, the pids limit of a cgroup, lack of memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace glint {

/// Sets the default stack of new threads to 8 MiB if it is below 1 MiB (`ulimit -s`), which is too small for fits.
void require_deep_stacks();

/// Runs `body`, which must not throw. Uses a thread with a deep stack if `ulimit -s` leaves the caller less than 1
/// MiB. For main().
int run_on_deep_stack(const std::function<int()>& body);

/// Returns how many of `wanted` threads, including the caller's, can compute simultaneously, at least 1. Leaves a few
/// threads for other work. Starts threads to test this, and caches the result. Thread-safe.
int startable_threads(int wanted);

/// Returns the message for too few threads, with the remedy.
std::string why_no_threads();

/// Runs `work`, which must not throw, in a new thread. Throws Error if none can be started.
std::jthread start_thread(std::function<void()> work);

}  // namespace glint
