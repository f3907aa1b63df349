// How often a waiting request wakes up, by its place in the queue.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace glint::gpu::lease {

/// head: polls NVML on behalf of all. near: within the policy's window, is notified of every change. far: the others.
enum class QueuePosition { head, near, far };

/// Upper bound of the time between two full evaluations, in case a notification was lost.
constexpr double full_scan_interval_s = 64;

/// While it waits, a request polls LeaseRequest::stop, and calls on_wait, at these intervals.
double stop_poll_s(QueuePosition place);
double progress_interval_s(QueuePosition place);

class PollSchedule {
  public:
    /// `seed` differs between processes, so that their jittered polls do not coincide.
    explicit PollSchedule(std::uint64_t seed) : random_(seed) {}
    /// After an event: poll again soon, because memory is freed some time after its process ended.
    void reset_backoff();
    /// Seconds until the next poll: of NVML for the head, of the head's liveness for the others. `notices`: inotify
    /// works; without it the intervals are a quarter as long.
    double next_poll_s(QueuePosition place, bool notices);

  private:
    double random();

    std::uint64_t random_;
    double quick_s_ = 1;
};

}  // namespace glint::gpu::lease
