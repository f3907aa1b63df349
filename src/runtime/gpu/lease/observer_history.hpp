// What one request has seen others do since it began to wait: it bounds what their records can cost it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "gpu/lease/gpu_probe.hpp"
#include "gpu/lease/state_dir.hpp"

namespace glint::gpu::lease {

/// A claim that stands unchanged for claim_timeout_s is stale: a running process resolves its claim within milliseconds.
/// A reservation whose user has had no process on that GPU for unused_timeout_s does not count while others wait. A user
/// whose tickets could have started for idle_ticket_s and did not is not waited for.
constexpr double claim_timeout_s = 2, unused_timeout_s = 60, idle_ticket_s = 10;

/// By the clock of the observer. Times in the records may have been forged, and are used only where a false one would
/// harm nobody but its writer.
class ObserverHistory {
  public:
    /// Must be called for every claim in every scan. True when the claim is stale: it is then ignored, and its process
    /// checks again before it relies on it (QueuedRequest::try_claim).
    bool is_stale(const ScannedSlot& claim, std::uint64_t now_ns);

    /// Must be called for every lease in every scan, with a share of it and that GPU. True when the reservation has not
    /// been used for too long. Never where NVML does not tell whose the processes there are. `strangers`: processes of
    /// users without a lease there, which may belong to any lease that says it holds memory (a container's root).
    bool is_unused(const ScannedSlot& lease, const Share& share, const ObservedGpu& gpu, bool strangers,
                   std::uint64_t now_ns);

    /// The users whose tickets before the own one could start, by NVML's data of now. True when one has been so for too
    /// long since the last call: the queue has to be computed again, without it.
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
