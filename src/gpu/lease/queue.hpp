// Puts together what the slots say and what NVML shows: the snapshot that the policy decides on.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "gpu/lease/gpu_probe.hpp"
#include "gpu/lease/policy.hpp"
#include "gpu/lease/state_dir.hpp"

namespace glint::gpu::lease {

constexpr double heartbeat_interval_s = 2, heartbeat_timeout_s = 6, claim_timeout_s = 2;

/// Remembers claims that do not end: whoever makes one goes on within milliseconds, unless it has been stopped.
class ClaimMemory {
  public:
    /// To be told of every claim at every look. True when this one has stood unchanged for claim_timeout_s: it then
    /// protects nothing, and its owner looks again before it relies on it.
    bool is_stale(const ScannedSlot& claim, std::uint64_t now_ns);

  private:
    struct First {
        std::uint64_t sequence, seen_ns;
    };
    std::map<SlotName, First> first_;
};

struct Queue {
    Snapshot snapshot;
    std::vector<SlotName> ticket_names;       ///< of snapshot.tickets
    std::vector<SlotName> reservation_names;  ///< of snapshot.reservations
    std::optional<std::size_t> mine;          ///< in snapshot.tickets
    bool later_claim_exists = false;          ///< there is a claim of a ticket behind ours
};

/// Who asks; what it has published itself is left out of the reservations, and its ticket is in whether it waits or
/// claims.
struct Self {
    SlotName name;
    const Record* record = nullptr;
};

enum class Claims { all, of_earlier_tickets };

/// From two scans with a look at NVML between them: whatever is being taken or given back meanwhile counts as taken.
Queue queue_of(const StateDir::Scan& before, const Observation& observation, const StateDir::Scan& after,
               const Self& self, std::uint64_t now_ns, ClaimMemory& claims, Claims which = Claims::all);

/// Whether a waiting ticket has given a sign of life lately. Those that have not are passed over.
bool is_awake(const Record& record, std::uint64_t now_ns);

/// Leases that began since this ticket came, of tickets that came after it.
int passes_of(const Record& ticket, const StateDir::Scan& scan);

}  // namespace glint::gpu::lease
