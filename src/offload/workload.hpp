// Work that is done part by part, by several devices and others at once: whether there is some, and when it is over.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "glint/progress.hpp"

namespace glint::offload {

/// Thread-safe. What the parts are is known to who derives from it: the rows of a stack, the frames of a movie.
class Workload {
  public:
    virtual ~Workload() = default;

    /// Waits until there is something to do; false: everything is finished, or it was closed. Throws Cancelled.
    bool wait_for_work(const StopFlag* stop);
    /// Waits so long at most; true: everything is finished, or it was closed.
    bool wait_for_end(double seconds);
    /// From now on there is nothing to do: something went wrong that stops all.
    void close();
    bool is_finished() const;
    /// When a part was last finished; at first, when this was made.
    std::chrono::steady_clock::time_point progressed() const;

  protected:
    // Both are asked with mutex_ held; changed_ is told when an answer changes.
    virtual bool all_done() const = 0;
    virtual bool some_to_do() const = 0;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool closed_ = false;
    std::chrono::steady_clock::time_point progressed_ = std::chrono::steady_clock::now();
};

}  // namespace glint::offload
