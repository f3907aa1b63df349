// What one request has observed since it began to wait. Limits the delay that other processes' records can cause.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "gpu/lease/gpu_probe.hpp"
#include "gpu/lease/state_dir.hpp"

namespace glint::gpu::lease {

/// A claim that stays unchanged for claim_timeout_s is stale: a running process resolves its claim within milliseconds.
/// A reservation whose user has had no process on that GPU for unused_timeout_s does not count while others wait.
/// Nobody waits for a user whose tickets could have started for idle_ticket_s but did not.
constexpr double claim_timeout_s = 2, unused_timeout_s = 60, idle_ticket_s = 10;

/// Uses the clock of the observer. Times in records may be forged, and are used only if a false time harms only its
/// writer.
class ObserverHistory {
  public:
    /// Must be called for every claim in every scan. Returns true if the claim is stale. It is then ignored, and its
    /// process checks again before it relies on it (QueuedRequest::try_claim).
    bool is_stale(const ScannedSlot& claim, std::uint64_t now_ns);

    /// Must be called for every lease in every scan, with a share of it and that GPU. Returns true if the reservation
    /// has not been used for too long; never if NVML does not report the users of the processes there.
    /// `has_foreign_users`: processes of users without a lease exist there, which may belong to any lease that claims
    /// to hold memory (a container's root).
    bool is_unused(const ScannedSlot& lease, const Share& share, const ObservedGpu& gpu, bool has_foreign_users,
                   std::uint64_t now_ns);

    /// `users`: users whose tickets before the own ticket could start, by NVML's current data. Returns true if one of
    /// them has been idle for too long since the last call: the queue must then be computed again without this user.
    bool saw_startable(const std::set<std::uint32_t>& users, std::uint64_t now_ns);
    bool is_idle(std::uint32_t user) const { return idle_.contains(user); }

  private:
    struct Claim {
        std::uint64_t sequence, seen_ns;
    };
    struct Lease {
        std::uint32_t occupancy;
        std::map<GpuId, std::uint64_t> unused_since_ns;
    };
    std::map<SlotName, Claim> claims_;
    std::map<SlotName, Lease> leases_;
    std::map<std::uint32_t, std::uint64_t> startable_since_ns_;
    std::set<std::uint32_t> idle_;
};

}  // namespace glint::gpu::lease
