// What stands behind a Lease.
// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "glint/gpu/lease.hpp"
#include "gpu/lease/broker.hpp"

namespace glint::gpu::lease {

struct LeaseState {
    std::shared_ptr<const StateDir> directory;  ///< before the slot, which needs it to the end
    std::shared_ptr<Clock> clock;
    std::shared_ptr<GpuProbe> probe;
    std::vector<LeasedDevice> devices;
    std::vector<GpuId> ids;    ///< of devices
    std::uint32_t driver = 0;  ///< Observation::driver
    double waited_s = 0;
    pid_t owner = ::getpid();
    std::string inherited_name;        ///< the name of the lease that this process runs under, where this is part of it
    std::optional<Watch> spent_watch;  ///< closed after the slot was given back

    std::mutex mutex;  ///< for what follows
    std::uint64_t bytes = 0;
    std::optional<Slot> slot;
    std::uint64_t looked_ns = 0;
    bool others_wait = false;
    std::vector<std::uint64_t> unexplained_before;  ///< bytes on each device, when a program was about to be started

    ~LeaseState();
    /// For GLINT_LEASE of other programs; empty where nobody can see the lease.
    std::string name() const;
    /// Under the mutex. Takes another slot where ours was removed.
    void publish();
    /// The descriptor for a program that is about to be started; -1: none.
    int keep_for_child();
    /// Publishes what that program and its children hold.
    void publish_held_by(unsigned pid);
    /// Remembers, for this user's later processes, what was found out; 0: nothing.
    void learn(std::size_t device, std::uint64_t context_bytes, int most_contexts);
};

/// acquire() in surroundings of the caller's.
Lease acquire_in(const Dependencies& deps, const LeaseRequest& request);

/// snapshot_leases() in surroundings of the caller's.
LeaseSnapshot snapshot_in(const Dependencies& deps);

}  // namespace glint::gpu::lease
