// A lock that serialises the creation of CUDA contexts on each GPU. If 32 contexts are created simultaneously, each
// takes 5 s; one after another, each takes 0.3 s.
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
/// Maximum wait for the lock while it keeps changing hands: the 101 contexts that a GPU holds take 27 s in turn.
constexpr double creation_lock_timeout_s = 30;

/// The process that waits for the lock.
struct CreationWait {
    LeaseRequest request = {};            ///< its timeout_s, stop, on_wait and log are used
    double waited_s = 0;                  ///< the part of the request's time that has passed already
    SlotName self = {0, slots_per_user};  ///< of the lease that the context is for; by default none
    std::string gpu = "a GPU";            ///< for messages
    std::uint64_t reserved_bytes = 0;     ///< reserved by the lease on that GPU, for on_wait
};

/// Waits for the lock of a GPU; it is released with the last copy of the result. Returns null if waiting would not
/// help, or no lock file can be opened: the lock is an optimisation, so the caller creates its context anyway. Throws
/// Cancelled, LeaseTimeout.
std::shared_ptr<void> lock_context_creation(const StateDir& directory, const GpuId& gpu, Clock& clock,
                                            const CreationWait& wait = {});

/// Returns the holder of a GPU's lock, for display; nullopt if nobody or a process of another pid namespace holds it.
/// Takes no lock itself. The holder is from the kernel's list, which cannot be forged; `since_s` comes from the holder
/// itself.
struct CreationHolder {
    unsigned pid = 0;
    double since_s = 0;
};
std::optional<CreationHolder> holder_of_context_creation(const StateDir& directory, const GpuId& gpu);

}  // namespace glint::gpu::lease
