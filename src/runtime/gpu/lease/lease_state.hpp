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
#include "gpu/lease/heartbeat.hpp"
#include "gpu/lease/leased_context.hpp"
#include "gpu/lease/waiters.hpp"

namespace glint::gpu::lease {

struct LeaseState {
    std::shared_ptr<Clock> clock;
    std::shared_ptr<GpuProbe> probe;
    std::shared_ptr<Waiters> waiters;
    std::vector<LeasedDevice> devices;
    std::vector<GpuId> ids;    ///< of devices
    std::uint32_t driver = 0;  ///< Observation::driver
    double waited_s = 0;
    std::uint64_t since_ns = 0;  ///< when it was acquired
    pid_t owner = ::getpid();
    std::string inherited_name;        ///< of the lease that this process runs under, if this is a part of it; the
                                       ///< slot is the part's
    std::optional<Watch> spent_watch;  ///< closed after the slot was released, because that takes 15 ms

    std::mutex mutex;                           ///< guards the members below
    std::shared_ptr<const StateDir> directory;  ///< before the slot, which needs it; a new one after a removal
    std::uint64_t bytes = 0;
    std::optional<Slot> slot;
    /// On each device: open contexts of this process, and bytes that other libraries have allocated there under this
    /// lease, as set by Lease::publish_held(); nullopt: not set.
    std::vector<std::shared_ptr<LeasedContext>> contexts;
    /// The lock of the first GPU, for the context that is about to be created (LeaseRequest::for_context).
    std::optional<Lease::CreationLock> creation_lock;
    std::vector<std::optional<std::uint64_t>> told_bytes;
    std::function<void(double)> on_wanted;
    std::vector<std::uint64_t> unexplained_before;  ///< bytes on each device just before the child program was started

    std::optional<Heartbeat> heartbeat;  ///< last: it ends first

    ~LeaseState();
    /// One heartbeat. Does not throw.
    /// - Publishes the bytes that the contexts hold.
    /// - If the file was deleted, takes a new slot, in a new directory if necessary.
    /// - If memory is short or other requests wait, trims the contexts' pools.
    /// - If other requests wait, returns a call of on_wanted. Make that call last, because it may destroy this object.
    std::function<void()> beat() noexcept;

    // Require the mutex:
    /// The value of GLINT_LEASE for child programs; empty if other processes do not see the lease.
    std::string name() const;
    /// Writes the record; takes a new slot if the file was deleted.
    void publish();
    /// Publishes the bytes held on a device: by the contexts' pools, by other libraries, and by the contexts
    /// themselves.
    void publish_held(std::size_t device);
    bool shows_context(std::size_t device) const { return slot && slot->record.shares[device].held_bytes > 0; }
    /// Returns the minimum expected time of requests that wait for this lease, for on_wanted(); nullopt if none waits.
    std::optional<double> shortest_wait_s() const;
    /// Returns the inheritable descriptor for a program that is about to be started; -1: none.
    int keep_for_child();
    /// Publishes the memory that the child program and its descendants use.
    void publish_held_by(unsigned pid);

    // These lock the mutex:
    std::vector<std::shared_ptr<LeasedContext>> open_contexts();
    /// Lease::lock_context_creation(); `waited_s` of the request's time have passed.
    Lease::CreationLock lock_context_creation(std::size_t device, const LeaseRequest& request, double waited_s);
    /// Waits for the lock if LeaseRequest::for_context.
    void prepare_context(const LeaseRequest& request);
    /// Returns the lock that prepare_context() has acquired; nullopt if there is none, or another context has used it.
    std::optional<Lease::CreationLock> take_creation_lock(std::size_t device);
    /// A context is about to be closed.
    void drop(const LeasedContext& context) noexcept;
    /// Records measured values for later processes of this user; 0: not measured.
    void learn(std::size_t device, std::uint64_t context_bytes, int max_contexts);

  private:
    void republish();
    /// Whether `other` waits for a GPU of this lease.
    bool is_wanted_by(const Record& other) const;
};

/// acquire() with injected dependencies, without a heartbeat; acquire_state() also without LeaseRequest::for_context.
std::unique_ptr<LeaseState> acquire_state(const Dependencies& deps, const LeaseRequest& request);
Lease acquire_in(const Dependencies& deps, const LeaseRequest& request);

/// snapshot_leases() with injected dependencies.
LeaseSnapshot snapshot_in(const Dependencies& deps);

}  // namespace glint::gpu::lease
