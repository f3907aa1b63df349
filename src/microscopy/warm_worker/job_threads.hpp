// Threads that run the jobs of an event loop, and wake its poll() when a job ends.
// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "gpu/lease/descriptor.hpp"

namespace glint::warm_worker {

/// Runs jobs on threads, and starts a thread if none is idle. Use it only from the event loop's thread.
class JobThreads {
  public:
    JobThreads();
    ~JobThreads();  ///< waits for running jobs; waiting jobs are dropped
    JobThreads(const JobThreads&) = delete;
    JobThreads& operator=(const JobThreads&) = delete;

    /// Calls work() on a thread immediately; afterwards settle() calls then(). `work` must not throw. Throws
    /// std::system_error if no thread can be started.
    void run(std::function<void()> work, std::function<void()> then);
    /// Calls then() for all finished work.
    void settle();
    /// Readable if settle() has something to do. -1 if the system had no descriptor left; then call settle() regularly.
    int descriptor() const { return done_event_.get(); }

  private:
    struct Task {
        std::function<void()> work, then;
    };
    void serve();

    gpu::lease::Descriptor done_event_;
    std::mutex mutex_;  // guards the members below, except threads_
    std::condition_variable changed_;
    std::deque<Task> waiting_;
    std::vector<std::function<void()>> done_;
    std::size_t idle_ = 0;
    bool ends_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace glint::warm_worker
