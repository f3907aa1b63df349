// Limits oneTBB to the number of threads that was requested and that can be started.
// SPDX-License-Identifier: MIT
#pragma once

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstddef>

#include "base/start_threads.hpp"
#include "glint/environment.hpp"

namespace glint {

/// Returns how many of `wanted` threads oneTBB may use. Must be called before its first use with that many threads:
/// oneTBB terminates the process if it cannot start a thread.
inline int tbb_threads(int wanted) {
    const int threads = startable_threads(wanted);
    if (threads < wanted) {
        static const tbb::global_control most(tbb::global_control::max_allowed_parallelism, std::size_t(threads));
    }
    return threads;
}

/// The same for work in the caller's arena, or outside any arena.
inline int tbb_threads() { return tbb_threads(tbb::this_task_arena::max_concurrency()); }

/// Returns GLINT_THREADS, or the number of threads of the caller's arena if it is smaller.
inline int own_threads() {
    return tbb_threads(std::min(environment::threads(), tbb::this_task_arena::max_concurrency()));
}

/// Runs `work` in an arena with GLINT_THREADS threads, or in the caller's arena if there is one.
template <class Work>
void in_own_arena(const Work& work) {
    const int threads = own_threads();
    if (threads >= tbb::this_task_arena::max_concurrency()) return work();
    tbb::task_arena arena(threads);
    arena.execute(work);
}

/// Runs `work` in an arena of `threads` threads, which also limits everything that it calls. With 0, runs it in the
/// current arena.
template <class Work>
auto in_arena_of(int threads, const Work& work) {
    const int allowed = tbb::this_task_arena::max_concurrency();
    if (threads <= 0 || threads >= allowed) return work();
    tbb::task_arena arena(tbb_threads(threads));
    return arena.execute(work);
}

}  // namespace glint
