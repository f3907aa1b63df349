// A small thread pool that copies host memory: one thread cannot saturate the link to the GPU (7 of 54 GB/s).
// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace glint::gpu {

/// A thread pool. Thread-safe.
class Workers {
  public:
    explicit Workers(int count);
    ~Workers();
    /// Adds `count` threads, up to `most` in total.
    void add(int count, int most);
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    /// Calls `work` in this thread and concurrently in up to `helpers` workers. Returns when all calls have returned;
    /// rethrows the first exception.
    void run(int helpers, const std::function<void()>& work);

  private:
    struct Job;
    void serve();

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<std::shared_ptr<Job>> waiting_;
    bool stop_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace glint::gpu
