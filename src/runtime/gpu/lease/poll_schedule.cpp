// Poll intervals and exponential backoff of waiting requests.
// SPDX-License-Identifier: MIT
#include "gpu/lease/poll_schedule.hpp"

#include <algorithm>

namespace glint::gpu::lease {
namespace {

// The head of the queue polls NVML, which has no notifications. Requests behind the head are notified of changes by
// inotify. They poll rarely, and only to check whether the head is still alive.
constexpr double head_poll_s = 0.5, near_poll_s = 4, far_poll_s = 16;
constexpr double first_retry_s = 0.004;  // after a change: the driver frees the memory of a dead process a little later

}  // namespace

double stop_poll_s(QueuePosition place) { return place == QueuePosition::far ? 1 : 0.25; }
double progress_interval_s(QueuePosition place) { return place == QueuePosition::far ? 1 : 0.5; }

void PollSchedule::reset_backoff() { quick_s_ = first_retry_s; }

double PollSchedule::next_poll_s(QueuePosition place, bool notices) {
    const double jitter = 0.75 + 0.5 * random();
    if (place == QueuePosition::head) {
        const double every_s = std::min(quick_s_, head_poll_s);
        quick_s_ = std::min(2 * quick_s_, head_poll_s);
        return every_s * jitter;
    }
    const double every_s = place == QueuePosition::near ? near_poll_s : far_poll_s;
    return jitter * (notices ? every_s : every_s / 4);
}

/// splitmix64
double PollSchedule::random() {
    std::uint64_t z = random_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return double((z ^ z >> 31) >> 11) * 0x1p-53;
}

}  // namespace glint::gpu::lease
