// The heartbeat of this process's leases: one thread that keeps true what other processes see of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>

namespace glint::gpu::lease {

/// A function that the heartbeat's thread calls once a second for as long as this object lives. Where no thread can be
/// started, and in a forked child, it is not called.
///
/// Destroying it waits for a call that is running, except from within the call itself: so what the function uses may be
/// destroyed afterwards, and the function may destroy its own Heartbeat if it touches nothing of it any more. Hold no lock
/// that the function takes.
class Heartbeat {
  public:
    static constexpr double interval_s = 1;

    explicit Heartbeat(std::function<void()> beat);
    ~Heartbeat();
    Heartbeat(const Heartbeat&) = delete;
    Heartbeat& operator=(const Heartbeat&) = delete;

    struct Entry;

  private:
    std::shared_ptr<Entry> entry_;
};

}  // namespace glint::gpu::lease
