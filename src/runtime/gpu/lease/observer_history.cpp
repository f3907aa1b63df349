// Measures how long claims, reservations and tickets of other processes stay without the progress that an honest
// process makes.
// SPDX-License-Identifier: MIT
#include "gpu/lease/observer_history.hpp"

namespace glint::gpu::lease {
namespace {

bool longer_than(double seconds, std::uint64_t since_ns, std::uint64_t now_ns) {
    return now_ns > since_ns && double(now_ns - since_ns) / 1e9 > seconds;
}

}  // namespace

// A live process writes its record again (claim, withdrawal, heartbeat), which changes the sequence number. An entry is
// never erased: there are at most as many as slots, and a new claim in the slot has another number.
bool ObserverHistory::is_stale(const ScannedSlot& claim, std::uint64_t now_ns) {
    const auto [first, is_new] = claims_.try_emplace(claim.name, Claim{claim.record.sequence, now_ns});
    if (!is_new && first->second.sequence != claim.record.sequence) first->second = {claim.record.sequence, now_ns};
    return longer_than(claim_timeout_s, first->second.seen_ns, now_ns);
}

// Uses the record's own time too, so that a new request need not wait for a minute: a forged time in the past harms
// only its own lease, and a time in the future does not count.
bool ObserverHistory::is_unused(const ScannedSlot& lease, const Share& share, const ObservedGpu& gpu,
                                bool has_foreign_users, std::uint64_t now_ns) {
    Lease& seen = leases_[lease.name];
    if (seen.occupancy != lease.record.occupancy) seen = {lease.record.occupancy, {}};
    if (!gpu.users || gpu.users->contains(lease.name.uid) || (share.held_bytes && has_foreign_users)) {
        seen.unused_since_ns.erase(gpu.id);
        return false;
    }
    const std::uint64_t since_ns = seen.unused_since_ns.try_emplace(gpu.id, now_ns).first->second;
    return longer_than(unused_timeout_s, since_ns, now_ns) ||
           longer_than(unused_timeout_s, lease.record.since_ns, now_ns);
}

bool ObserverHistory::saw_startable(const std::set<std::uint32_t>& users, std::uint64_t now_ns) {
    std::erase_if(startable_since_ns_, [&](const auto& entry) { return !users.contains(entry.first); });
    bool changed = false;
    for (const std::uint32_t user : users)
        if (longer_than(idle_ticket_s, startable_since_ns_.try_emplace(user, now_ns).first->second, now_ns))
            changed |= idle_.insert(user).second;
    return changed;
}

}  // namespace glint::gpu::lease
