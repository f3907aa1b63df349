// A few threads that copy host memory: one alone cannot keep the link to the GPU busy (7 of 54 GB/s).
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

/// Threads that wait for work. Thread-safe.
class Workers {
  public:
    explicit Workers(int count);
    ~Workers();
    /// So many more, as long as all together stay within `most`.
    void add(int count, int most);
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    /// Calls `work` from this thread and, at the same time, from up to `helpers` others. Returns when all have
    /// returned; throws the first of what they threw.
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
