// Waits for parts of a workload, and for its completion.
// SPDX-License-Identifier: MIT
#include "offload/workload.hpp"

#include "glint/error.hpp"

namespace glint::offload {
namespace {

constexpr std::chrono::milliseconds slice{50};  // interval for polling the stop flag

}  // namespace

bool Workload::wait_for_work(const StopFlag* stop) {
    std::unique_lock lock(mutex_);
    while (!closed_ && !all_done() && !some_to_do()) {
        if (stop && *stop) throw Cancelled("the work was stopped");
        changed_.wait_for(lock, slice);
    }
    return !closed_ && !all_done();
}

bool Workload::wait_for_end(double seconds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return closed_ || all_done(); });
}

void Workload::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
}

bool Workload::is_finished() const {
    const std::lock_guard lock(mutex_);
    return all_done();
}

std::chrono::steady_clock::time_point Workload::progressed() const {
    const std::lock_guard lock(mutex_);
    return progressed_;
}

}  // namespace glint::offload
