// Converts slot records to the tickets and reservations of the policy's snapshot.
//
// Everything here is computed from records that other processes, also of other users, have written. So no value is
// trusted beyond its bounds: amounts saturate, unknown GPUs keep the index -1, times are compared in both directions.
// Measurements of the machine in a user's records (context size, limits) are used only by that user's processes.
// SPDX-License-Identifier: MIT
#include "gpu/lease/queue.hpp"

#include <algorithm>

#include "gpu/lease/measure.hpp"
#include "gpu/lease/policy.hpp"
#include "gpu/process.hpp"

namespace glint::gpu::lease {
namespace {

// The bytes that a lease may still allocate: NVML's free memory includes them, but they are promised. A holder that
// allocated more than it reserved counts as 0, not as a negative amount that would free memory of other leases.
std::uint64_t outstanding(const Share& share) { return minus(share.reserved_bytes, share.held_bytes); }
std::uint64_t nanoseconds(double seconds) { return std::uint64_t(seconds * 1e9); }

/// -1: this process does not see the GPU (CUDA_VISIBLE_DEVICES, another MIG instance). Its lease still counts against
/// the user's limit.
int find_index(const Observation& observation, const GpuId& id) {
    for (std::size_t g = 0; g < observation.gpus.size(); ++g)
        if (observation.gpus[g].id == id) return int(g);
    return -1;
}

/// The share of the same lease in the earlier scan; null: it was not held then. Equal occupancy means the same owner: a
/// slot's next owner may lease the same GPU between the two scans.
const Share* previous_share(const StateDir::Scan& before, const ScannedSlot& slot, const GpuId& gpu) {
    const auto found = std::lower_bound(before.slots.begin(), before.slots.end(), slot.name,
                                        [](const ScannedSlot& s, const SlotName& name) { return s.name < name; });
    if (found == before.slots.end() || found->name != slot.name || !found->alive) return nullptr;
    if (found->record.occupancy != slot.record.occupancy || found->record.state != State::holding) return nullptr;
    for (const Share& share : found->record.used_shares())
        if (share.gpu == gpu) return &share;
    return nullptr;
}

/// The total order of the queue: by arrival, then by slot name. All processes must agree on it, or each of two claims
/// could treat the other as the later one and wait for it. So it depends only on the records.
bool comes_before(const Record& a, SlotName name_of_a, const Record& b, SlotName name_of_b) {
    return a.arrived_ns != b.arrived_ns ? a.arrived_ns < b.arrived_ns : name_of_a < name_of_b;
}

/// If many contexts are created at the same time, some fail with the same error as one context too many. So a recorded
/// limit may be wrong. It is ignored if the GPU holds more contexts now, and after a while, so that processes try
/// again.
bool is_credible(const Known& limit, std::uint32_t age_s, const Gpu& gpu) {
    constexpr std::uint32_t lifetime_s = 600;
    return age_s <= lifetime_s && limit.max_contexts >= min_credible_context_limit &&
           limit.max_contexts >= std::uint32_t(gpu.processes);
}

/// Adds the context size and the limit of contexts that processes of this user have measured. Records of other users
/// are not used: they could be forged to block or overcommit.
void apply_known_costs(const StateDir::Scan& scan, const Observation& observation, std::uint32_t uid,
                       std::uint64_t now_ns, std::vector<Gpu>& gpus) {
    constexpr std::uint32_t max_mib = 16384, never = ~std::uint32_t(0);
    const std::uint32_t now_s = to_seconds(now_ns);
    for (std::size_t g = 0; g < gpus.size(); ++g) {
        // Dead slots count too: measurements outlive the process that made them. The latest value of any slot counts:
        // an unusual context (of a debugger, for example) is corrected by the next measurement.
        std::uint32_t size_age_s = never, limit_age_s = never;
        for (const ScannedSlot& slot : scan.slots) {
            if (slot.name.uid != uid) continue;
            for (const Known& known : slot.record.known) {
                if (known.gpu != observation.gpus[g].id || known.driver != observation.driver) continue;
                // A time in the future: the machine, and with it the clock, was restarted since.
                const std::uint32_t age_s = known.seen_s <= now_s ? now_s - known.seen_s : never - 1;
                if (known.context_mib && known.context_mib <= max_mib && age_s < size_age_s)
                    size_age_s = age_s, gpus[g].measured_context_bytes = std::uint64_t(known.context_mib) << 20;
                if (is_credible(known, age_s, gpus[g]) && age_s < limit_age_s)
                    limit_age_s = age_s,
                    gpus[g].max_contexts =
                        int(std::min(std::uint32_t(observation.gpus[g].gpu.max_contexts), known.max_contexts));
            }
        }
    }
}

/// Two scans surround the NVML query; the scan with more outstanding memory counts. Otherwise, a lease that allocates
/// during the query would be missing from both "free" and "reserved".
///
/// The order of the holder's writes makes this safe in both directions: it publishes `held` after it has allocated and
/// before it frees. So at any moment free - outstanding is at most what is really available.
void add_reservations(const StateDir::Scan& before, const ScannedSlot& slot, const Observation& observation,
                      const std::vector<bool>& foreign_users, ObserverHistory& history, std::uint64_t now_ns,
                      Queue& queue) {
    for (const Share& now : slot.record.used_shares()) {
        const int g = find_index(observation, now.gpu);
        const bool holds = slot.record.state == State::holding;
        if (holds && g >= 0 &&
            history.is_unused(slot, now, observation.gpus[std::size_t(g)], foreign_users[std::size_t(g)], now_ns))
            continue;
        const Share* earlier = previous_share(before, slot, now.gpu);
        const Share& share = earlier && outstanding(*earlier) > outstanding(now) ? *earlier : now;
        // At most the GPU's memory, whatever another user writes. Otherwise, the record could block a GPU that its
        // owner does not use.
        const std::uint64_t max_bytes = g < 0 ? ~std::uint64_t(0) : observation.gpus[std::size_t(g)].gpu.total_bytes;
        queue.snapshot.reservations.push_back({g, slot.name.uid, std::min(share.reserved_bytes, max_bytes),
                                               std::min(share.held_bytes, max_bytes), int(share.more_contexts),
                                               slot.record.arrived_ns});
        queue.reservation_names.push_back(slot.name);
    }
}

/// Returns for each GPU whether users without a lease have processes there.
std::vector<bool> find_gpus_with_foreign_users(const StateDir::Scan& scan, const Observation& observation) {
    std::vector<bool> foreign_users;
    for (const ObservedGpu& seen : observation.gpus) {
        std::set<std::uint32_t> users = seen.users.value_or(std::set<std::uint32_t>());
        for (const ScannedSlot& slot : scan.slots)
            for (const Share& share : slot.record.used_shares())
                if (slot.alive && slot.record.state == State::holding && share.gpu == seen.id)
                    users.erase(slot.name.uid);
        foreign_users.push_back(!users.empty());
    }
    return foreign_users;
}

/// Attributes the use of a busy GPU to processes without a lease, i.e. processes that do not descend from a holder.
/// Unknown if holders are in other containers, or have left their lease to other processes.
void note_foreign_utilization(const StateDir::Scan& scan, const Observation& observation, Snapshot& snapshot) {
    for (std::size_t g = 0; g < observation.gpus.size(); ++g) {
        const ObservedGpu& seen = observation.gpus[g];
        if (!seen.percent_by_process) continue;
        std::set<unsigned> holders;
        bool known = true;
        for (const ScannedSlot& slot : scan.slots)
            for (const Share& share : slot.record.used_shares())
                if (slot.alive && slot.record.state == State::holding && share.gpu == seen.id) {
                    known &= slot.record.pid_namespace == pid_namespace() && !has_ended(slot.record.pid);
                    holders.insert(slot.record.pid);
                }
        if (!known) continue;
        int percent = 0;
        for (const auto& [pid, of_it] : *seen.percent_by_process)
            if (!descends_from(pid, holders)) percent += of_it;
        snapshot.gpus[g].foreign_utilization_percent = percent;
    }
}

/// A ticket whose GPUs this process does not see has no candidates: it is in the queue, but blocks nobody here.
Ticket make_ticket(const ScannedSlot& slot, const Observation& observation) {
    Ticket ticket{slot.name.uid, slot.record.need_bytes, int(slot.record.gpus), 0, 0, slot.record.arrived_ns};
    for (const Share& share : slot.record.used_shares())
        if (const int g = find_index(observation, share.gpu); g >= 0) ticket.candidates |= GpuSet(1) << g;
    return ticket;
}

/// Appends the tickets in the order of the queue. The process's own ticket is included in any state, so that its place
/// does not depend on whether it is claiming now.
void add_tickets(std::vector<const ScannedSlot*>& waiting, const StateDir::Scan& scan, const Observation& observation,
                 const Self& self, Queue& queue) {
    const int window = Rules().window;  // passes matter within the window only, and counting them is not cheap
    std::map<std::uint32_t, int> tickets_of;
    // Scans are ordered by name; the queue is not.
    std::sort(waiting.begin(), waiting.end(), [](const ScannedSlot* a, const ScannedSlot* b) {
        return comes_before(a->record, a->name, b->record, b->name);
    });
    for (const ScannedSlot* slot : waiting) {
        if (slot->name == self.name) queue.mine = queue.snapshot.tickets.size();
        queue.snapshot.tickets.push_back(make_ticket(*slot, observation));
        queue.ticket_names.push_back(slot->name);
        if (tickets_of[slot->name.uid]++ < window)
            queue.snapshot.tickets.back().passes = count_passes(slot->record, scan);
    }
}

/// If NVML does not report free memory, assumes the total minus the memory of leases. Foreign processes are then
/// invisible, so a lease may be granted that cannot allocate. Its holder handles this as any lack of memory.
void estimate_free_from_leases(const Observation& observation, Snapshot& snapshot) {
    for (std::size_t g = 0; g < observation.gpus.size(); ++g) {
        if (observation.gpus[g].free_known) continue;
        Gpu& gpu = snapshot.gpus[g];
        std::uint64_t left = gpu.total_bytes;
        for (const Reservation& r : snapshot.reservations)
            if (r.gpu == int(g)) left = minus(left, r.held_bytes);
        gpu.free_bytes = std::min(gpu.free_bytes, left);
    }
}

}  // namespace

// A heartbeat in the future (a time namespace, or forged) counts as an old one: otherwise one write could keep
// a ticket awake permanently.
bool is_awake(const Record& record, std::uint64_t now_ns) {
    const std::uint64_t apart = std::max(minus(now_ns, record.beat_ns), minus(record.beat_ns, now_ns));
    return apart <= nanoseconds(heartbeat_timeout_s);
}

// Each process counts from the history in the slots, dead or alive, instead of a counter in the ticket: the overtaking
// process may die before it would write the counter, and the overtaken process may be stopped. A slot keeps the last
// eight admissions (Record::max_admissions), as many as Rules::max_passes, so the history of a single, repeatedly used
// slot suffices.
int count_passes(const Record& ticket, const StateDir::Scan& scan) {
    int passes = 0;
    for (const ScannedSlot& slot : scan.slots)
        for (const Admission& a : slot.record.admissions)
            passes += a.arrived_ns > ticket.arrived_ns && a.admitted_ns > ticket.arrived_ns;
    return passes;
}

Queue make_queue(const StateDir::Scan& before, const Observation& observation, const StateDir::Scan& after,
                 const Self& self, std::uint64_t now_ns, ObserverHistory& history, Claims which) {
    Queue queue;
    for (const ObservedGpu& seen : observation.gpus) queue.snapshot.gpus.push_back(seen.gpu);
    apply_known_costs(after, observation, self.name.uid, now_ns, queue.snapshot.gpus);
    note_foreign_utilization(after, observation, queue.snapshot);
    const std::vector<bool> foreign_users = find_gpus_with_foreign_users(after, observation);
    std::vector<const ScannedSlot*> waiting;
    for (const ScannedSlot& slot : after.slots) {
        // The process's own record counts only as a ticket, because its claim must not conflict with itself.
        const bool ours = slot.name == self.name && self.record;
        if (!slot.alive) continue;
        const bool waits = slot.record.state == State::waiting && is_awake(slot.record, now_ns);
        if (ours || (waits && !history.is_idle(slot.name.uid))) waiting.push_back(&slot);
        if (ours) continue;
        // A lease never becomes stale, however long its process is stopped, because the process also keeps the memory.
        if (slot.record.state == State::holding)
            add_reservations(before, slot, observation, foreign_users, history, now_ns, queue);
        if (slot.record.state != State::claiming || history.is_stale(slot, now_ns)) continue;
        // A claim counts like a lease. Without later claims, the earlier of two claimants sees whether it would fit.
        const bool later = self.record && comes_before(*self.record, self.name, slot.record, slot.name);
        queue.later_claim_exists |= later;
        if (!later || which == Claims::all)
            add_reservations(before, slot, observation, foreign_users, history, now_ns, queue);
    }
    add_tickets(waiting, after, observation, self, queue);
    estimate_free_from_leases(observation, queue.snapshot);
    return queue;
}

}  // namespace glint::gpu::lease
