// How often somebody who waits wakes up.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace glint::gpu::lease {

/// In the queue: who asks NVML for all, those who see every change, and the others.
enum class QueuePosition { head, near, far };

/// All who look at everything do so at least this often, in case a notice was lost.
constexpr double full_scan_interval_s = 64;

/// While it waits, a QueuePosition looks at LeaseRequest::stop so often, and calls on_wait.
double stop_poll_s(QueuePosition place);
double progress_interval_s(QueuePosition place);

class PollSchedule {
  public:
    /// Different seeds: so that those who wait do not all look at once.
    explicit PollSchedule(std::uint64_t seed) : random_(seed) {}
    /// Something has changed, and more may follow: memory comes back after its owner has gone.
    void reset_backoff();
    /// Seconds until the next look: the head's at everything, others' at the head. `notices`: changes are told.
    double next_poll_s(QueuePosition place, bool notices);

  private:
    double random();

    std::uint64_t random_;
    double quick_s_ = 1;
};

}  // namespace glint::gpu::lease
