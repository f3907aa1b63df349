// A lock that serialises the creation of CUDA contexts on each GPU: 32 created at once take 5 s each, in turn 0.3 s each.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "glint/gpu/lease.hpp"
#include "gpu/lease/clock.hpp"
#include "gpu/lease/record.hpp"
#include "gpu/lease/state_dir.hpp"

namespace glint::gpu::lease {

/// Creating a context never takes this long, so a lock held for longer belongs to a stopped process and is ignored.
constexpr double creation_lock_stall_s = 5;
/// The longest wait for the lock while it keeps changing hands: the 101 contexts that a GPU holds take 27 s in turn.
constexpr double creation_lock_timeout_s = 30;

/// Who waits for the lock.
struct CreationWait {
    LeaseRequest request = {};            ///< timeout_s, stop, on_wait and log of it
    double waited_s = 0;                  ///< how much of its time has passed before
    SlotName self = {0, slots_per_user};  ///< of the lease that the context is for; by default none
    std::string gpu = "a GPU";            ///< for messages
    std::uint64_t reserved_bytes = 0;     ///< by the lease there, for on_wait
};

/// Waits for the lock of a GPU; it is released with the last copy of the result. Null where the wait would be in vain,
/// or no lock file can be opened: the lock is an optimisation, so the caller creates its context anyway. Throws Cancelled,
/// LeaseTimeout.
std::shared_ptr<void> lock_context_creation(const StateDir& directory, const GpuId& gpu, Clock& clock,
                                            const CreationWait& wait = {});

/// Who holds the lock of a GPU, for display: nothing where nobody does, or a process of another pid namespace. Takes no
/// lock itself. By the kernel's list, which cannot be forged; `since_s` is as old as that process says.
struct CreationHolder {
    unsigned pid = 0;
    double since_s = 0;
};
std::optional<CreationHolder> holder_of_context_creation(const StateDir& directory, const GpuId& gpu);

}  // namespace glint::gpu::lease
