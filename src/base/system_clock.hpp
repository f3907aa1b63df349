// The time of day, for records that people read.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>

namespace glint {

/// Nanoseconds since 1970 by the system's clock, which may be set back.
inline std::int64_t system_clock_ns() {
    using namespace std::chrono;
    return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace glint
