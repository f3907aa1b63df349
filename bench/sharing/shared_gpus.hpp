// Simulated GPUs: memory is allocated exclusively, computing time is shared by time slicing.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gpu/lease/policy.hpp"

namespace glint::sharing {

using gpu::lease::GpuSet;

struct SharedGpu {
    std::uint64_t total_bytes = 0, free_bytes = 0;
    int contexts = 0;  ///< of jobs and foreign processes
    int creating = 0;  ///< contexts that are being created
    int computing = 0, computing_foreign = 0;

    bool is_busy() const { return computing + computing_foreign > 0; }
};

/// A job on several GPUs runs at the speed of the slowest. The capacity that it leaves on the other GPUs goes to the
/// jobs beside it (max-min fair shares). Time is monotonic: each `now_s` must not be less than the previous one.
class SharedGpus {
  public:
    SharedGpus(int gpus, std::uint64_t bytes_each);

    const std::vector<SharedGpu>& gpus() const { return gpus_; }

    /// Allocates memory. Returns false and allocates nothing if there is not enough.
    bool take(int gpu, std::uint64_t bytes);
    void give(int gpu, std::uint64_t bytes);
    bool take_context(double now_s, int gpu);
    void give_context(double now_s, int gpu);

    void begin_creation(double now_s, int job, int gpu);
    void begin_computing(double now_s, int job, GpuSet on, double seconds);
    void foreign_process_computes(double now_s, int gpu, int change);

    struct Ending {
        double at_s;
        int job;
    };
    /// Returns the active item that would end first if the state did not change before.
    std::optional<Ending> next();
    /// Ends the job's computing, or the creation of its context. Returns the remaining work, in seconds of computing
    /// alone.
    double end(double now_s, int job);

    /// Returns the time in which nothing computed, summed over GPUs.
    double idle_s(double now_s) {
        advance(now_s);
        return idle_s_;
    }

  private:
    struct Activity {
        int job;
        GpuSet on;
        bool creates;      // whether it creates a context; else it computes
        double remaining;  // remaining share of a context, or remaining seconds of computing alone
        double rate;
    };
    void advance(double now_s);
    void set_rates();
    void share_computing_time();

    std::vector<SharedGpu> gpus_;
    std::vector<Activity> active_;
    double now_s_ = 0, idle_s_ = 0;
    bool rates_hold_ = true;
};

}  // namespace glint::sharing
