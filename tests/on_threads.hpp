// Runs work on a given number of threads, even if there are fewer cores.
// SPDX-License-Identifier: MIT
#pragma once

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace glint::test {

template <class Work>
void on_threads(int threads, const Work& work) {
    ::setenv("GLINT_THREADS", std::to_string(threads).c_str(), 1);
    constexpr auto parallelism = tbb::global_control::max_allowed_parallelism;
    const tbb::global_control allowed(parallelism,
                                      std::max(tbb::global_control::active_value(parallelism), std::size_t(threads)));
    tbb::task_arena(threads).execute(work);
    ::unsetenv("GLINT_THREADS");
}

}  // namespace glint::test
