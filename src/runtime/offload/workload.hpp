// A workload that several devices and the CPU process part by part. Tracks whether parts are available, and when all
// are done.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "glint/progress.hpp"

namespace glint::offload {

/// Thread-safe. Derived classes define the parts: rows of a stack, frames of a movie.
class Workload {
  public:
    virtual ~Workload() = default;

    /// Blocks until a part is available. Returns false if all parts are finished, or the workload was closed. Throws
    /// Cancelled.
    bool wait_for_work(const StopFlag* stop);
    /// Blocks for at most `seconds`. Returns true if all parts are finished, or the workload was closed.
    bool wait_for_end(double seconds);
    /// Ends the workload after a fatal error: no more parts are available.
    void close();
    bool is_finished() const;
    /// The time when a part was last finished; initially the time of construction.
    std::chrono::steady_clock::time_point progressed() const;

  protected:
    // Called with mutex_ held. The function that changes a result notifies changed_.
    virtual bool all_done() const = 0;
    virtual bool some_to_do() const = 0;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool closed_ = false;
    std::chrono::steady_clock::time_point progressed_ = std::chrono::steady_clock::now();
};

}  // namespace glint::offload
