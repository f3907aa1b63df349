// The interface between the simulation and a sharing policy.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>

#include "bench/sharing/shared_gpus.hpp"
#include "bench/sharing/workload.hpp"

namespace glint::sharing {

/// The server and its jobs, as a policy observes and controls them.
class Stage {
  public:
    virtual ~Stage() = default;
    virtual double now_s() const = 0;
    virtual const SimulatedJob& job(int job) const = 0;
    virtual const std::vector<SharedGpu>& gpus() const = 0;
    /// Returns the bytes that the job has allocated on a GPU, including its context.
    virtual std::uint64_t held_bytes(int job, int gpu) const = 0;

    /// Starts the job: it creates its contexts one after the other, allocates its memory and computes.
    virtual void start(int job, GpuSet on) = 0;
    virtual void fail(int job) = 0;
    /// Returns the time since which the job has had its GPUs; nullopt if it does not compute.
    virtual std::optional<double> computes_since_s(int job) const = 0;
    /// Interrupts the job: it releases everything, SharingPolicy::lost() is called, and the rest of its work remains.
    virtual void interrupt(int job) = 0;
    /// Schedules a call of SharingPolicy::woken(token).
    virtual void wake_at(double at_s, int token) = 0;
    virtual double random() = 0;  ///< uniform in [0, 1)
};

class SharingPolicy {
  public:
    virtual ~SharingPolicy() = default;
    /// Returns true if each GPU creates one context at a time, and queues further ones.
    virtual bool creates_contexts_one_at_a_time() const { return false; }

    virtual void arrived(int job) = 0;
    /// A context or memory was refused, and the job has released everything.
    virtual void lost(int job) = 0;
    virtual void computed(int /*job*/) {}
    virtual void released(int /*job*/) {}  ///< the job has finished and released everything
    virtual void foreign_processes_changed() {}
    virtual void woken(int /*token*/) {}
};

/// Starts each job on random GPUs immediately. A refused job has failed.
std::unique_ptr<SharingPolicy> naive_policy(Stage& stage);
/// Polls all GPUs every 0.5 s and uses the first with enough free memory and, if shared, at most the given utilization.
std::unique_ptr<SharingPolicy> polling_policy(Stage& stage, int max_busy_percent);
/// Uses the broker's own code. Fits give way after `quantum_s`.
std::unique_ptr<SharingPolicy> lease_policy(Stage& stage, double quantum_s);

}  // namespace glint::sharing
