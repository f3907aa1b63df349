// The Clock of the machine: CLOCK_MONOTONIC and ppoll().
// SPDX-License-Identifier: MIT
#include "gpu/lease/clock.hpp"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <cmath>

namespace glint::gpu::lease {
namespace {

class MachineClock final : public Clock {
  public:
    std::uint64_t now_ns() override {
        timespec time{};
        ::clock_gettime(CLOCK_MONOTONIC, &time);
        return std::uint64_t(time.tv_sec) * 1'000'000'000u + std::uint64_t(time.tv_nsec);
    }
    void wait(int wake, double seconds) override {
        const double bounded = std::clamp(seconds, 0.0, 3600.0);
        timespec time{};
        time.tv_sec = time_t(bounded);
        time.tv_nsec = long((bounded - std::floor(bounded)) * 1e9);
        pollfd waker{wake, POLLIN, 0};  // a negative descriptor is ignored
        ::ppoll(&waker, 1, &time, nullptr);
    }
};

}  // namespace

Clock& machine_clock() {
    static MachineClock clock;
    return clock;
}

}  // namespace glint::gpu::lease
