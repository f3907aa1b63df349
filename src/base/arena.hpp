// Parallel work of functions that take no number of threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <tbb/task_arena.h>

#include <algorithm>

#include "glint/environment.hpp"

namespace glint {

/// Runs `work` where oneTBB's algorithms have as many threads as GLINT_THREADS says, or as the caller's arena has.
template <class Work>
void in_own_arena(const Work& work) {
    const int allowed = tbb::this_task_arena::max_concurrency(), wanted = environment::threads();
    if (wanted >= allowed) return work();
    tbb::task_arena arena(wanted);
    arena.execute(work);
}

}  // namespace glint
