// Combines the slot records and the NVML observation into the snapshot that the policy decides on.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "gpu/lease/gpu_probe.hpp"
#include "gpu/lease/observer_history.hpp"
#include "gpu/lease/policy.hpp"
#include "gpu/lease/state_dir.hpp"

namespace glint::gpu::lease {

/// A waiting ticket without a heartbeat for heartbeat_timeout_s counts as stopped and is skipped.
constexpr double heartbeat_interval_s = 2, heartbeat_timeout_s = 6;

struct Queue {
    Snapshot snapshot;
    std::vector<SlotName> ticket_names;       ///< of snapshot.tickets
    std::vector<SlotName> reservation_names;  ///< of snapshot.reservations
    std::optional<std::size_t> mine;          ///< in snapshot.tickets
    bool later_claim_exists = false;          ///< a ticket behind ours has a claim
};

/// The process that evaluates. Its own record is left out of the reservations, and its ticket is included in any state.
struct Self {
    SlotName name;
    const Record* record = nullptr;
};

enum class Claims { all, of_earlier_tickets };

/// Combines two scans with an NVML query between them. Memory that is allocated or released between the scans counts as
/// used, so that the result errs on the safe side. `before` may be empty if no claim depends on the result.
Queue make_queue(const StateDir::Scan& before, const Observation& observation, const StateDir::Scan& after,
                 const Self& self, std::uint64_t now_ns, ObserverHistory& history, Claims which = Claims::all);

/// Converts a time of Clock to the seconds that records of measured values contain.
constexpr std::uint32_t to_seconds(std::uint64_t now_ns) { return std::uint32_t(now_ns / 1'000'000'000); }

/// Whether a waiting ticket has a recent heartbeat. Tickets without one are skipped.
bool is_awake(const Record& record, std::uint64_t now_ns);

/// Returns how often the ticket was overtaken: the admissions, since it arrived, of tickets that arrived after it.
/// Reads the history of all slots, so counting for all tickets costs tickets x slots.
int count_passes(const Record& ticket, const StateDir::Scan& scan);

}  // namespace glint::gpu::lease
