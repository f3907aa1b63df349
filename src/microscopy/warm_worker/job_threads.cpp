// A queue of tasks, and an eventfd.
// SPDX-License-Identifier: MIT
#include "warm_worker/job_threads.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace glint::warm_worker {

JobThreads::JobThreads() : done_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

JobThreads::~JobThreads() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void JobThreads::run(std::function<void()> work, std::function<void()> then) {
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_back({std::move(work), std::move(then)});
        if (waiting_.size() > idle_) threads_.emplace_back([this] { serve(); });
    }
    changed_.notify_one();
}

void JobThreads::serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
        ++idle_;
        changed_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
        --idle_;
        if (ends_) return;
        Task task = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        task.work();
        task.work = nullptr;  // destroys what it owns on this thread, before settle() can see the task
        lock.lock();
        done_.push_back(std::move(task.then));
        const std::uint64_t one = 1;
        (void)::write(done_event_.get(), &one, sizeof one);  // fails if it is already readable
    }
}

void JobThreads::settle() {
    std::vector<std::function<void()>> done;
    {
        const std::lock_guard lock(mutex_);
        std::uint64_t count = 0;
        (void)::read(done_event_.get(), &count, sizeof count);  // fails if nothing was written
        done.swap(done_);
    }
    for (const std::function<void()>& then : done) then();
}

}  // namespace glint::warm_worker
