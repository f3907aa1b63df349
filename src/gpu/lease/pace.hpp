// How often somebody who waits wakes up.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace glint::gpu::lease {

/// In the queue: who asks NVML for all, those who see every change, and the others.
enum class Place { head, near, far };

/// All who look at everything do so at least this often, in case a notice was lost.
constexpr double full_look_every_s = 64;

/// While it waits, a Place looks at LeaseRequest::stop so often, and calls on_wait.
double stop_every_s(Place place);
double tell_every_s(Place place);

class Pace {
  public:
    /// Different seeds: so that those who wait do not all look at once.
    explicit Pace(std::uint64_t seed) : random_(seed) {}
    /// Something has changed, and more may follow: memory comes back after its owner has gone.
    void hurry();
    /// Seconds until the next look: the head's at everything, others' at the head. `notices`: changes are told.
    double next_look_s(Place place, bool notices);

  private:
    double random();

    std::uint64_t random_;
    double quick_s_ = 1;
};

}  // namespace glint::gpu::lease
