// Threads where the system may refuse them: `ulimit -u`, the process limit of a control group, no memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace glint {

/// How many of `wanted` threads, the caller's among them, can compute at once, with a few left for other work beside them;
/// at least 1. Starts them to see, and remembers. Thread-safe.
int startable_threads(int wanted);

/// Why there are no more threads, and what to do about it.
std::string why_no_threads();

/// Runs `work`, which must not throw, in a thread of its own. Throws Error where none can be started.
std::jthread start_thread(std::function<void()> work);

}  // namespace glint
