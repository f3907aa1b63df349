// Elapsed time in seconds; the time of day, for records that people read.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace glint {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Returns the shorter time of two runs, since the first run includes starting threads.
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

/// Returns nanoseconds since 1970 by the system's clock, which may be set back.
inline std::int64_t system_clock_ns() {
    using namespace std::chrono;
    return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace glint
