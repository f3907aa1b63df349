// The clock interface of the lease protocol, injected so that tests control time.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace glint::gpu::lease {

class Clock {
  public:
    virtual ~Clock() = default;
    /// Nanoseconds since an arbitrary epoch, the same for all processes of the machine.
    virtual std::uint64_t now_ns() = 0;
    /// Blocks until the descriptor `wake` becomes readable (-1: none), a signal arrives, or `seconds` have passed.
    virtual void wait(int wake, double seconds) = 0;
};

/// CLOCK_MONOTONIC. Processes in another time namespace have an offset, and are queued earlier or later than
/// they arrived.
Clock& machine_clock();

}  // namespace glint::gpu::lease
