// What a policy of sharing is told, and what it may do.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "bench/sharing/shared_gpus.hpp"
#include "bench/sharing/workload.hpp"

namespace glint::sharing {

/// The server and its jobs, as a policy sees and moves them.
class Stage {
  public:
    virtual ~Stage() = default;
    virtual double now_s() const = 0;
    virtual const Job& job(int job) const = 0;
    virtual const std::vector<SharedGpu>& gpus() const = 0;
    /// What the job has taken of a GPU, with its context.
    virtual std::uint64_t held_bytes(int job, int gpu) const = 0;

    /// The job begins to create its contexts there, one after the other; then it takes its memory and computes.
    virtual void start(int job, GpuSet on) = 0;
    virtual void fail(int job) = 0;
    /// SharingPolicy::woken(token) is called then.
    virtual void wake_at(double at_s, int token) = 0;
    virtual double random() = 0;  ///< uniform in [0, 1)
};

class SharingPolicy {
  public:
    virtual ~SharingPolicy() = default;
    /// On each GPU; the others wait for their turn.
    virtual bool creates_contexts_one_at_a_time() const { return false; }

    virtual void arrived(int job) = 0;
    /// A context or memory was refused, and the job has let go of everything.
    virtual void lost(int job) = 0;
    virtual void computed(int /*job*/) {}
    virtual void released(int /*job*/) {}  ///< it has computed, and let go of everything
    virtual void foreign_processes_changed() {}
    virtual void woken(int /*token*/) {}
};

/// Takes GPUs by chance, at once. What is refused has failed.
std::unique_ptr<SharingPolicy> naive_policy(Stage& stage);
/// Looks at all GPUs every 0.5 s and takes the first that have room and are, with others there, at most so busy.
std::unique_ptr<SharingPolicy> polling_policy(Stage& stage, int max_busy_percent);
/// Asks the broker's own code.
std::unique_ptr<SharingPolicy> lease_policy(Stage& stage);

}  // namespace glint::sharing
