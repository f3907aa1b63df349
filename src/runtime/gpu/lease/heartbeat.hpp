// The heartbeat of this process's leases: one thread that keeps their published state up to date.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>

namespace glint::gpu::lease {

/// A function that the heartbeat's thread calls once a second for as long as this object lives. It is not called if no
/// thread can be started, nor in a forked child.
///
/// Its destructor waits for a running call, except within the call itself. Objects that the function uses may be
/// destroyed afterwards. The function may destroy its own Heartbeat if it does not use it afterwards. Do not hold a
/// lock that the function takes during destruction.
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
