// Loops over several threads of the CPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cstdint>

#include "base/arena.hpp"

namespace glint::arrays::cpu {

/// Resolves the argument `threads` of cpu.hpp to a number of threads, at most the number of usable CPUs.
inline int thread_count(int threads) {
    static const int all = tbb_threads(tbb::info::default_concurrency());
    return threads > 0 ? std::min(threads, all) : all;
}

/// Calls body(k) for k from 0 to n - 1 in parallel. While it waits, the calling thread executes no unrelated tasks,
/// because it may hold a lock.
template <class Body>
void parallel(int threads, std::int64_t n, const Body& body) {
    if (n <= 1 || thread_count(threads) == 1) {
        for (std::int64_t k = 0; k < n; ++k) body(k);
        return;
    }
    const auto loop = [&] { tbb::parallel_for(std::int64_t(0), n, body); };
    if (threads == 0 || thread_count(threads) == tbb::this_task_arena::max_concurrency())
        tbb::this_task_arena::isolate(loop);
    else
        tbb::task_arena(thread_count(threads)).execute(loop);
}

}  // namespace glint::arrays::cpu
