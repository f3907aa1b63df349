// First come, first served, with bounded backfill. A request gets the GPU with the fewest sharers; among equals, the
// GPU with the most free memory.
//
// As in batch schedulers, a later request may backfill while an earlier one does not fit. After Rules::max_passes such
// overtakes, the earlier ticket gets a reservation: GPUs on which later tickets may use only the memory that the
// earlier ticket will leave. That limits the wait to the run times of leases that existed before.
//
// Admission on a GPU: free by NVML - sum over its leases of (reserved - held) >= need + context. Keeping whole GPUs for
// large tickets, with one window over all users, makes small jobs stand behind large ones: in the simulator the mean
// wait on a crowded server was 26 minutes instead of 3.4 (docs/explanation/sharing-policies.md).
// SPDX-License-Identifier: MIT
#include "gpu/lease/policy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

namespace glint::gpu::lease {
namespace {

// NVML may hide processes (in a container). Then used memory that no lease accounts for indicates a foreign process.
// The threshold is above what the driver itself takes on an empty GPU, and leaves room for contexts (0.5 GiB each) that
// leases have created and not published yet.
constexpr std::uint64_t unexplained_bytes = std::uint64_t(2) << 30;

/// The remaining capacity of a GPU while a schedule is computed.
struct Capacity {
    const Gpu* gpu = nullptr;
    std::uint64_t free = 0;              // after every lease has allocated its reserved memory
    std::uint64_t if_empty = 0;          // after every lease has been released
    std::uint64_t held = 0;              // allocated by leases
    int holders = 0, coming = 0;         // leases with a context, and without one yet
    int held_contexts = 0;               // of the holders
    bool has_foreign_processes = false;  // processes with a context but without a lease
    bool reserved = false;               // for a ticket that was overtaken max_passes times
    std::uint64_t backfill = 0;          // of a reserved GPU: memory that later tickets may use in the meantime

    // NVML lists contexts of leases and of foreign processes, but nothing in a container where processes are hidden.
    // Leases know only their own contexts. The maximum of both numbers is the better lower bound. Neither includes
    // coming contexts.
    int contexts() const { return std::max(gpu->processes, held_contexts) + coming; }
    // A reserved GPU keeps a context free, too: memory alone would not let the overtaken ticket start.
    bool is_full() const { return contexts() + reserved >= gpu->max_contexts; }
    int foreign_contexts() const { return std::max(0, gpu->processes - held_contexts); }
    // Under MPS, the server is the only process of an exclusive GPU, and its clients share the GPU.
    bool one_at_a_time() const { return gpu->mode == ComputeMode::exclusive_process && !gpu->mps; }
    /// The utilization of the whole device is attributed to foreign processes only if no lease holds a context.
    bool foreign_processes_are_busy(const Rules& rules) const {
        const int all = holders == 0 ? gpu->utilization_percent : -1;
        return has_foreign_processes &&
               std::max(all, gpu->foreign_utilization_percent) > rules.foreign_utilization_percent;
    }
};

/// The state of one plan: capacities that shrink as tickets are granted in order. Not kept between plans.
class Scheduler {
  public:
    Scheduler(const Snapshot& snapshot, const Rules& rules)
        : snapshot_(snapshot), rules_(rules), count_(std::min<int>(int(snapshot.gpus.size()), max_gpus)) {
        for (int g = 0; g < count_; ++g) capacities_[g].gpu = &snapshot.gpus[g];
        for (const Reservation& r : snapshot.reservations) add(r);
        for (int g = 0; g < count_; ++g) finish(capacities_[g]);
    }

    /// Decides for the next ticket of the queue, and subtracts its grant or reservation from the capacities.
    Decision decide(const Ticket& ticket) {
        Decision decision;
        decision.place = considered_;
        // The window is per user, so that one user's hundred tickets do not hide everybody else's; it bounds the work,
        // and how many processes an event wakes (QueuedRequest::narrow_watch).
        decision.near = tickets_of_[ticket.uid]++ < rules_.window;
        if (over_user_limit(ticket)) {
            // Must precede the counting of considered_: a ticket that waits only for its user's own leases must not be
            // the head.
            explain(ticket, decision);
            decision.obstacle = Obstacle::user_limit;
            return decision;
        }
        considered_ += decision.near;
        if (decision.near) decision.gpus = best(ticket);
        if (decision.gpus) {
            grant(ticket, decision.gpus);
            return decision;
        }
        // Not admitted. After the limit of overtakes, its need is reserved against the following tickets of this plan.
        explain(ticket, decision);
        if (!decision.near)
            decision.obstacle = Obstacle::others_first;
        else if (ticket.passes >= rules_.max_passes)
            reserve(ticket);
        return decision;
    }

    /// Returns why the ticket cannot start on GPU g now; none if it can. The order is such that the first reason is the
    /// most useful in a message: reasons that waiting cannot change, then earlier tickets, then other processes.
    Obstacle obstacle(const Ticket& ticket, int g) const {
        const Capacity& capacity = capacities_[g];
        const std::uint64_t need = required(ticket, capacity);
        if (!is_candidate(ticket, g) || capacity.gpu->mode == ComputeMode::prohibited ||
            need > capacity.gpu->total_bytes)
            return Obstacle::no_such_gpu;
        if (capacity.reserved && (need > capacity.backfill || capacity.is_full())) return Obstacle::others_first;
        if (capacity.one_at_a_time() && capacity.contexts() > 0) return Obstacle::exclusive;
        if (capacity.is_full()) return Obstacle::contexts;
        if (capacity.free < need) return Obstacle::memory;
        if (contended(capacity, need, capacity.free)) return Obstacle::foreign_processes;
        return Obstacle::none;
    }

    /// A GPU counts once per lease. Leases on GPUs that this process does not see count too (index -1 in add()).
    bool over_user_limit(const Ticket& ticket) const {
        if (!rules_.max_shares_per_user) return false;
        const auto found = shares_.find(ticket.uid);
        return (found == shares_.end() ? 0 : found->second) + ticket.gpus > rules_.max_shares_per_user;
    }
    std::uint64_t required(const Ticket& ticket, std::size_t g) const { return required(ticket, capacities_[g]); }

  private:
    /// See reserved_bytes().
    static std::uint64_t required(const Ticket& ticket, const Capacity& capacity) {
        const Gpu& gpu = *capacity.gpu;
        const std::uint64_t usual = plus(ticket.need_bytes, gpu.context_bytes);
        if (!gpu.measured_context_bytes) return usual;
        const std::uint64_t measured = plus(ticket.need_bytes, gpu.measured_context_bytes);
        return measured <= capacity.if_empty ? measured : std::min(measured, usual);
    }
    static bool is_candidate(const Ticket& ticket, int g) { return ticket.candidates >> g & 1; }

    /// Counts a lease or a claim. While leases and claims are added, `free` accumulates the bytes that the GPU still
    /// owes to leases.
    void add(const Reservation& r) {
        if (rules_.max_shares_per_user) ++shares_[r.uid];
        if (r.gpu < 0 || r.gpu >= count_) return;
        Capacity& capacity = capacities_[r.gpu];
        capacity.free =
            plus(capacity.free, minus(r.reserved_bytes, r.held_bytes));  // not yet allocated; finish() subtracts it
        capacity.held = plus(capacity.held, r.held_bytes);
        ++(r.held_bytes ? capacity.holders : capacity.coming);
        if (r.held_bytes) capacity.held_contexts += 1 + r.more_contexts;
    }

    /// After all reservations were added: converts the sum to free memory, and detects foreign processes.
    void finish(Capacity& capacity) const {
        // Saturates, because NVML's numbers and the records are not from the same instant: differences may be slightly
        // negative.
        const Gpu& gpu = *capacity.gpu;
        capacity.free = minus(gpu.free_bytes, capacity.free);
        capacity.if_empty = std::min(gpu.total_bytes, plus(gpu.free_bytes, capacity.held));
        capacity.has_foreign_processes = gpu.mps ? false : capacity.foreign_contexts() > 0;
        if (gpu.processes == 0 && gpu.total_bytes - capacity.if_empty > unexplained_bytes)
            capacity.has_foreign_processes = true;
    }

    /// Free memory required to admit `need`: with headroom beside foreign processes, whose use may grow. The headroom
    /// applies only to the admission; the lease itself remains `need`.
    std::uint64_t with_headroom(const Capacity& capacity, std::uint64_t need) const {
        if (!capacity.has_foreign_processes) return need;
        // A need of more than 1 / foreign_headroom of the GPU could never be met; half of the remainder is enough then.
        const double total = double(capacity.gpu->total_bytes);
        return std::uint64_t(std::ceil(std::min(rules_.foreign_headroom * double(need), (double(need) + total) / 2)));
    }
    /// `free` is an argument because a reservation evaluates the GPU as it will be without its leases.
    bool contended(const Capacity& capacity, std::uint64_t need, std::uint64_t free) const {
        return free < with_headroom(capacity, need) || capacity.foreign_processes_are_busy(rules_);
    }

    /// Returns the `ticket.gpus` GPUs with the highest score among the `possible` ones. Returns 0 if there are too few,
    /// since a request for several GPUs gets all or none. If scores are equal, the lowest index wins.
    template <class Possible, class Score>
    GpuSet choose(const Ticket& ticket, Possible possible, Score score) const {
        GpuSet open = 0, chosen = 0;
        for (int g = 0; g < count_; ++g)
            if (possible(g)) open |= GpuSet(1) << g;
        if (ticket.gpus < 1 || std::popcount(open) < ticket.gpus) return 0;
        for (int n = 0; n < ticket.gpus; ++n) {
            int top = -1;
            for (int g = 0; g < count_; ++g)
                if (open >> g & 1 && (top < 0 || score(capacities_[g]) > score(capacities_[top]))) top = g;
            open &= ~(GpuSet(1) << top);
            chosen |= GpuSet(1) << top;
        }
        return chosen;
    }

    /// Prefers the fewest sharers, since all sharers get the same part of the computing time; then the most free
    /// memory, which leaves room for large requests. A busy foreign process counts as half a sharer: the numbers are
    /// doubled to stay integers.
    ///
    /// Preferring the most free memory per sharer would leave a GPU to a single large lease, although there is room on
    /// it, and crowd the small leases elsewhere (docs/explanation/sharing-policies.md).
    GpuSet best(const Ticket& ticket) const {
        const auto score = [](const Capacity& capacity) {
            const int busy = capacity.has_foreign_processes && capacity.gpu->utilization_percent > 50;
            return std::pair(-(2 * (capacity.holders + capacity.coming) + busy), capacity.free);
        };
        return choose(
            ticket, [&](int g) { return obstacle(ticket, g) == Obstacle::none; }, score);
    }

    /// Assumes that the ticket is admitted: the tickets behind it see the remaining capacity.
    void grant(const Ticket& ticket, GpuSet gpus) {
        for (int g = 0; g < count_; ++g)
            if (gpus >> g & 1) {
                const std::uint64_t need = required(ticket, capacities_[g]);
                // obstacle() has found free >= need, so this does not wrap. Backfill shrinks too: later tickets share
                // what this ticket leaves.
                capacities_[g].free -= need, capacities_[g].backfill = minus(capacities_[g].backfill, need);
                ++capacities_[g].coming;
            }
        if (rules_.max_shares_per_user) shares_[ticket.uid] += ticket.gpus;
    }

    /// Reserves for an overtaken ticket the GPUs that it will get first. Later tickets may backfill the memory that the
    /// overtaken ticket will not need. It then starts beside them as soon as the leases of earlier tickets have ended.
    /// Prefers GPUs where later leases already leave enough memory, then those with the most memory free of earlier
    /// leases. A GPU blocked by foreign processes alone is not reserved, since their end cannot be predicted and it
    /// would stay idle.
    void reserve(const Ticket& ticket) {
        std::array<std::uint64_t, max_gpus> later{};
        // Memory of leases that came after the ticket: backfilled leases may still exist when the ticket could start.
        for (const Reservation& r : snapshot_.reservations)
            if (r.gpu >= 0 && r.gpu < count_ && r.arrived_ns > ticket.arrived_ns)
                later[r.gpu] = plus(later[r.gpu], std::max(r.reserved_bytes, r.held_bytes));
        const auto backfill =
            [&](const Capacity& capacity) {  // negative: later leases take memory that the ticket needs
                return double(capacity.if_empty) - double(with_headroom(capacity, required(ticket, capacity))) -
                       double(later[index(capacity)]);
            };
        const auto possible = [&](int g) {
            const Capacity& capacity = capacities_[g];
            const std::uint64_t need = required(ticket, capacity);
            return is_candidate(ticket, g) && capacity.gpu->mode != ComputeMode::prohibited && !capacity.reserved &&
                   capacity.if_empty >= need &&
                   // Contexts of leases will be gone by then; contexts of foreign processes may not.
                   capacity.foreign_contexts() < (capacity.one_at_a_time() ? 1 : capacity.gpu->max_contexts) &&
                   !contended(capacity, need, capacity.if_empty);
        };
        const GpuSet kept = choose(ticket, possible, [&](const Capacity& capacity) {
            // If the ticket must wait for later leases anyway, the GPU that is emptiest now is expected to become free
            // first.
            const bool enough_left = backfill(capacity) >= 0;
            return std::pair(enough_left, plus(capacity.free, enough_left ? later[index(capacity)] : 0));
        });
        for (Capacity& capacity : capacities_)
            if (kept >> index(capacity) & 1) {
                capacity.reserved = true;
                // Negative: later leases use all of the backfill already, and no other ticket gets any. On an exclusive
                // GPU, a backfilled lease would be the one process for which the ticket waits.
                capacity.backfill = capacity.one_at_a_time() ? 0 : std::uint64_t(std::max(0.0, backfill(capacity)));
            }
    }
    std::size_t index(const Capacity& capacity) const { return std::size_t(&capacity - capacities_.data()); }

    /// For messages: the candidate with the most free memory, and why it cannot be used now. If several GPUs are
    /// requested, GPUs that are ready do not explain the wait.
    void explain(const Ticket& ticket, Decision& decision) const {
        decision.obstacle = Obstacle::no_such_gpu;
        decision.required_bytes = ticket.need_bytes;
        bool explained = false;
        for (int g = 0; g < count_; ++g) {
            const Obstacle here = obstacle(ticket, g);
            if (here == Obstacle::no_such_gpu) continue;
            const bool explains = here != Obstacle::none;
            if (decision.gpu >= 0 && (explained && !explains)) continue;
            if (decision.gpu >= 0 && explained == explains && capacities_[g].free <= decision.available_bytes) continue;
            explained = explains;
            decision.gpu = g;
            decision.available_bytes = capacities_[g].free;
            decision.required_bytes = required(ticket, capacities_[g]);
            // A request for several GPUs: this GPU is ready, but other GPUs are not.
            decision.obstacle = here == Obstacle::none ? Obstacle::memory : here;
        }
    }

    // A reference is safe, as the policy is a pure function: plan() and still_fits() return before the snapshot
    // changes.
    const Snapshot& snapshot_;
    const Rules& rules_;
    int count_;
    std::array<Capacity, max_gpus> capacities_{};
    std::map<std::uint32_t, int> shares_, tickets_of_;  // by user
    int considered_ = 0;
};

}  // namespace

std::vector<Decision> plan(const Snapshot& snapshot, const Rules& rules, std::size_t last) {
    Scheduler state(snapshot, rules);
    std::vector<Decision> decisions;
    decisions.reserve(std::min(last + 1, snapshot.tickets.size()));
    for (std::size_t t = 0; t < snapshot.tickets.size() && t <= last; ++t)
        decisions.push_back(state.decide(snapshot.tickets[t]));
    return decisions;
}

std::uint64_t reserved_bytes(const Snapshot& snapshot, const Ticket& ticket, std::size_t gpu) {
    return Scheduler(snapshot, Rules()).required(ticket, gpu);
}

bool still_fits(const Snapshot& snapshot, const Rules& rules, const Ticket& ticket, GpuSet gpus) {
    const Scheduler state(snapshot, rules);
    if (state.over_user_limit(ticket)) return false;  // by a claim that was not there yet when the policy decided
    // A GPU outside the snapshot does not fit: it has vanished between the plan and the claim.
    for (int g = 0; g < max_gpus; ++g)
        if (gpus >> g & 1 && (g >= int(snapshot.gpus.size()) || state.obstacle(ticket, g) != Obstacle::none))
            return false;
    return gpus != 0;
}

bool ever_fits(const Snapshot& snapshot, const Ticket& ticket) {
    int possible = 0;
    for (std::size_t g = 0; g < snapshot.gpus.size() && g < max_gpus; ++g) {
        // Compares with the total, since neither leases nor foreign processes stay permanently.
        const Gpu& gpu = snapshot.gpus[g];
        possible += ticket.candidates >> g & 1 && gpu.mode != ComputeMode::prohibited &&
                    plus(ticket.need_bytes, gpu.context_bytes) <= gpu.total_bytes;
    }
    return possible >= ticket.gpus;
}

}  // namespace glint::gpu::lease
