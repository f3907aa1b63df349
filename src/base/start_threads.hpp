// Starting threads on systems that may refuse them: `ulimit -u`, the pids limit of a cgroup, lack of memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace glint {

/// How many of `wanted` threads, including the caller's, can compute at once, with a few to spare for other work; at least
/// 1. Tests it by starting threads, and caches the result. Thread-safe.
int startable_threads(int wanted);

/// The message for too few threads, with the remedy.
std::string why_no_threads();

/// Runs `work`, which must not throw, in a thread of its own. Throws Error where none can be started.
std::jthread start_thread(std::function<void()> work);

}  // namespace glint
