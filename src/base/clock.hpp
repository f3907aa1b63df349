// Elapsed time in seconds.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

namespace glint {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace glint
