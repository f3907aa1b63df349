// The implementation of Lease.
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
    std::string inherited_name;        ///< of the lease that this process runs under, where this is a part of it
    std::optional<Watch> spent_watch;  ///< closed after the slot was released, because that takes 15 ms

    std::mutex mutex;  ///< guards what follows
    std::uint64_t bytes = 0;
    std::optional<Slot> slot;
    std::uint64_t waiters_checked_ns = 0;  ///< when others_wait was last computed
    bool others_wait = false;
    std::vector<std::uint64_t> unexplained_before;  ///< bytes on each device just before the child program was started

    ~LeaseState();
    /// The value of GLINT_LEASE for child programs; empty where other processes do not see the lease.
    std::string name() const;
    /// Writes the record; takes a new slot where the file was deleted. Called with the mutex held.
    void publish();
    /// The inheritable descriptor for a program that is about to be started; -1: none.
    int keep_for_child();
    /// Publishes the memory that the child program and its descendants use.
    void publish_held_by(unsigned pid);
    /// Records measured values for later processes of this user; 0: not measured.
    void learn(std::size_t device, std::uint64_t context_bytes, int most_contexts);
};

/// acquire() with injected dependencies.
Lease acquire_in(const Dependencies& deps, const LeaseRequest& request);

/// snapshot_leases() with injected dependencies.
LeaseSnapshot snapshot_in(const Dependencies& deps);

}  // namespace glint::gpu::lease
