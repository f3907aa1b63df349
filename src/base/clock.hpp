// Elapsed time in seconds.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>

namespace glint {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The shorter of two runs: the first one includes starting threads.
template <class Work>
double shorter_seconds_of_two(const Work& work) {
    double seconds[2];
    for (double& one : seconds) {
        const Clock::time_point began = Clock::now();
        work();
        one = seconds_since(began);
    }
    return std::min(seconds[0], seconds[1]);
}

}  // namespace glint
