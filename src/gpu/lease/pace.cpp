// How often somebody who waits wakes up.
// SPDX-License-Identifier: MIT
#include "gpu/lease/pace.hpp"

#include <algorithm>

namespace glint::gpu::lease {
namespace {

// The reference polls every 0.5 s. Those behind the head need not look at all before something changes; they see
// whether the head is awake.
constexpr double head_polls_every_s = 0.5, near_polls_every_s = 4, far_polls_every_s = 16;
constexpr double first_look_after_s = 0.004;  // after a change: the kernel still takes a dead process apart

}  // namespace

double stop_every_s(Place place) { return place == Place::far ? 1 : 0.25; }
double tell_every_s(Place place) { return place == Place::far ? 1 : 0.5; }

void Pace::hurry() { quick_s_ = first_look_after_s; }

double Pace::next_look_s(Place place, bool notices) {
    const double jitter = 0.75 + 0.5 * random();
    if (place == Place::head) {
        const double every_s = std::min(quick_s_, head_polls_every_s);
        quick_s_ = std::min(2 * quick_s_, head_polls_every_s);
        return every_s * jitter;
    }
    const double every_s = place == Place::near ? near_polls_every_s : far_polls_every_s;
    return jitter * (notices ? every_s : every_s / 4);
}

/// splitmix64
double Pace::random() {
    std::uint64_t z = random_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return double((z ^ z >> 31) >> 11) * 0x1p-53;
}

}  // namespace glint::gpu::lease
