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
class ThreadPool {
  public:
    explicit ThreadPool(int count);
    ~ThreadPool();
    /// Adds `count` threads, up to `max_count` in total.
    void add(int count, int max_count);
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    /// Calls `work` in this thread and concurrently in up to `helpers` threads of the pool. Returns when all calls have
    /// returned; rethrows the first exception.
    void run(int helpers, const std::function<void()>& work);

  private:
    struct Call;
    void serve();

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<std::shared_ptr<Call>> waiting_;
    bool stop_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace glint::gpu
