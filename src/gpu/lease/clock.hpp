// Time as the broker sees it, so that tests can make their own.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace glint::gpu::lease {

class Clock {
  public:
    virtual ~Clock() = default;
    /// Of one clock for the whole machine, since some instant in the past.
    virtual std::uint64_t now_ns() = 0;
    /// Waits until something can be read from the descriptor `wake` (-1: nothing can), a signal comes, or the time is
    /// up.
    virtual void wait(int wake, double seconds) = 0;
};

/// The kernel's monotonic clock, one for all processes (but for those in a time namespace of their own, which then come
/// earlier or later in the queue than they did).
Clock& machine_clock();

}  // namespace glint::gpu::lease
