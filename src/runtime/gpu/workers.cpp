// A queue of jobs. The calling thread works too, so that a job never waits for an idle worker.
// SPDX-License-Identifier: MIT
#include "gpu/workers.hpp"

#include <algorithm>
#include <exception>
#include <system_error>

namespace glint::gpu {

struct Workers::Job {
    const std::function<void()>& work;
    std::mutex mutex;
    std::condition_variable finished;
    int running = 0;
    bool closed = false;  // the caller has finished: workers that enter now have nothing left to do
    std::exception_ptr error;

    explicit Job(const std::function<void()>& call) : work(call) {}

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

Workers::Workers(int count) { add(count, count); }

void Workers::add(int count, int most) {
    const std::lock_guard lock(mutex_);
    try {
        for (; count > 0 && int(threads_.size()) < most; --count) threads_.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {
        // Fewer threads than requested: slower, but correct.
    }
}

Workers::~Workers() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void Workers::serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
        wake_.wait(lock, [&] { return stop_ || !waiting_.empty(); });
        if (stop_) return;
        const std::shared_ptr<Job> job = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        if (job->enter()) {
            job->call();
            job->leave();
        }
        lock.lock();
    }
}

void Workers::run(int helpers, const std::function<void()>& work) {
    const auto job = std::make_shared<Job>(work);
    {
        const std::lock_guard lock(mutex_);
        helpers = std::clamp(helpers, 0, int(threads_.size()));
        waiting_.insert(waiting_.end(), std::size_t(helpers), job);
    }
    for (int k = 0; k < helpers; ++k) wake_.notify_one();
    job->call();
    job->close();
    if (job->error) std::rethrow_exception(job->error);
}

}  // namespace glint::gpu
