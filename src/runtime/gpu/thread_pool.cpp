// A queue of calls. The calling thread works too, so that a call never waits for an idle thread.
// SPDX-License-Identifier: MIT
#include "gpu/thread_pool.hpp"

#include <algorithm>
#include <exception>
#include <system_error>

namespace glint::gpu {

struct ThreadPool::Call {
    const std::function<void()>& work;
    std::mutex mutex;
    std::condition_variable finished;
    int running = 0;
    bool closed = false;  // the caller has finished: threads that enter now have nothing left to do
    std::exception_ptr error;

    explicit Call(const std::function<void()>& call) : work(call) {}

    bool enter() {
        const std::lock_guard lock(mutex);
        if (closed) return false;
        ++running;
        return true;
    }
    void call() {
        std::exception_ptr thrown;
        try {
            work();
        } catch (...) {
            thrown = std::current_exception();
        }
        const std::lock_guard lock(mutex);
        if (!error) error = thrown;
    }
    void leave() {
        const std::lock_guard lock(mutex);
        --running;
        finished.notify_all();
    }
    void close() {
        std::unique_lock lock(mutex);
        closed = true;
        finished.wait(lock, [&] { return running == 0; });
    }
};

ThreadPool::ThreadPool(int count) { add(count, count); }

void ThreadPool::add(int count, int max_count) {
    const std::lock_guard lock(mutex_);
    try {
        for (; count > 0 && int(threads_.size()) < max_count; --count) threads_.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {
        // Fewer threads than requested: slower, but correct.
    }
}

ThreadPool::~ThreadPool() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
        wake_.wait(lock, [&] { return stop_ || !waiting_.empty(); });
        if (stop_) return;
        const std::shared_ptr<Call> one = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        if (one->enter()) {
            one->call();
            one->leave();
        }
        lock.lock();
    }
}

void ThreadPool::run(int helpers, const std::function<void()>& work) {
    const auto one = std::make_shared<Call>(work);
    {
        const std::lock_guard lock(mutex_);
        helpers = std::clamp(helpers, 0, int(threads_.size()));
        waiting_.insert(waiting_.end(), std::size_t(helpers), one);
    }
    for (int k = 0; k < helpers; ++k) wake_.notify_one();
    one->call();
    one->close();
    if (one->error) std::rethrow_exception(one->error);
}

}  // namespace glint::gpu
