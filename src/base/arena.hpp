// oneTBB's threads: as many as can be started, and as many as were asked for.
// SPDX-License-Identifier: MIT
#pragma once

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstddef>

#include "base/start_threads.hpp"
#include "glint/environment.hpp"

namespace glint {

/// How many of `wanted` threads oneTBB may have. To be asked before its first use with so many: where it cannot start one,
/// it ends the process.
inline int tbb_threads(int wanted) {
    const int threads = startable_threads(wanted);
    if (threads < wanted) {
        static const tbb::global_control most(tbb::global_control::max_allowed_parallelism, std::size_t(threads));
    }
    return threads;
}

/// The same for what runs in the caller's arena, or in none.
inline int tbb_threads() { return tbb_threads(tbb::this_task_arena::max_concurrency()); }

/// Runs `work` where oneTBB's algorithms have as many threads as GLINT_THREADS says, or as the caller's arena has.
template <class Work>
void in_own_arena(const Work& work) {
    const int allowed = tbb::this_task_arena::max_concurrency(), wanted = environment::threads();
    const int threads = tbb_threads(std::min(wanted, allowed));
    if (threads >= allowed) return work();
    tbb::task_arena arena(threads);
    arena.execute(work);
}

}  // namespace glint
