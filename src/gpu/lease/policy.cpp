// First come, first served, with bounded backfill, on the GPU with the most room for each who shares it.
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

// NVML may hide the processes (a container): then memory that no lease explains betrays a stranger. What the driver
// itself takes of an empty GPU is less.
constexpr std::uint64_t unexplained_bytes = std::uint64_t(2) << 30;

std::uint64_t minus(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }
/// Amounts that others wrote may be anything.
std::uint64_t plus(std::uint64_t a, std::uint64_t b) { return a + b < a ? ~std::uint64_t(0) : a + b; }

/// What is left on a GPU while a plan is made.
struct Capacity {
    const Gpu* gpu = nullptr;
    std::uint64_t free = 0;              // once every lease has what it reserved
    std::uint64_t if_empty = 0;          // free once every lease is given back
    std::uint64_t held = 0;              // by leases
    int holders = 0, coming = 0;         // leases with a context, and without one yet
    int held_contexts = 0;               // of the holders
    bool has_foreign_processes = false;  // somebody is here without a lease
    bool promised = false;               // to a ticket that has been passed often enough
    std::uint64_t beside = 0;            // of a promised GPU: what others may have without being in that ticket's way

    int contexts() const { return std::max(gpu->processes, held_contexts) + coming; }
    bool is_full() const { return contexts() + promised >= gpu->most_contexts; }
    int foreign_contexts() const { return std::max(0, gpu->processes - held_contexts); }
    bool one_at_a_time() const { return gpu->mode == ComputeMode::exclusive_process && !gpu->mps; }
    /// The device's utilization may be that of the leases on it, and these are no strangers.
    bool foreign_processes_are_busy(const Rules& rules) const {
        return has_foreign_processes && holders == 0 && gpu->utilization_percent > rules.foreign_utilization_percent;
    }
};

class Scheduler {
  public:
    Scheduler(const Snapshot& snapshot, const Rules& rules)
        : snapshot_(snapshot), rules_(rules), count_(std::min<int>(int(snapshot.gpus.size()), most_gpus)) {
        for (int g = 0; g < count_; ++g) rooms_[g].gpu = &snapshot.gpus[g];
        for (const Reservation& r : snapshot.reservations) add(r);
        for (int g = 0; g < count_; ++g) settle(rooms_[g]);
    }

    Decision decide(const Ticket& ticket) {
        Decision decision;
        decision.place = looked_at_;
        decision.near = tickets_of_[ticket.uid]++ < rules_.window;
        if (over_user_limit(ticket)) {
            explain(ticket, decision);
            decision.obstacle = Obstacle::user_limit;
            return decision;
        }
        looked_at_ += decision.near;
        if (decision.near) decision.gpus = best(ticket);
        if (decision.gpus) {
            grant(ticket, decision.gpus);
            return decision;
        }
        explain(ticket, decision);
        if (!decision.near)
            decision.obstacle = Obstacle::others_first;
        else if (ticket.passes >= rules_.max_passes)
            promise(ticket);
        return decision;
    }

    Obstacle obstacle(const Ticket& ticket, int g) const {
        const Capacity& room = rooms_[g];
        const std::uint64_t need = required(ticket, room);
        if (!is_candidate(ticket, g) || room.gpu->mode == ComputeMode::prohibited || need > room.gpu->total_bytes)
            return Obstacle::no_such_gpu;
        if (room.promised && (need > room.beside || room.is_full())) return Obstacle::others_first;
        if (room.one_at_a_time() && room.contexts() > 0) return Obstacle::exclusive;
        if (room.is_full()) return Obstacle::contexts;
        if (room.free < need) return Obstacle::memory;
        if (contended(room, need, room.free)) return Obstacle::foreign_processes;
        return Obstacle::none;
    }

  private:
    static std::uint64_t required(const Ticket& ticket, const Capacity& room) {
        return plus(ticket.need_bytes, room.gpu->context_bytes);
    }
    static bool is_candidate(const Ticket& ticket, int g) { return ticket.candidates >> g & 1; }

    void add(const Reservation& r) {
        if (rules_.max_shares_per_user) ++shares_[r.uid];
        if (r.gpu < 0 || r.gpu >= count_) return;
        Capacity& room = rooms_[r.gpu];
        room.free = plus(room.free, minus(r.reserved_bytes, r.held_bytes));  // here still what is to come
        room.held = plus(room.held, r.held_bytes);
        ++(r.held_bytes ? room.holders : room.coming);
        if (r.held_bytes) room.held_contexts += 1 + r.more_contexts;
    }

    void settle(Capacity& room) const {
        const Gpu& gpu = *room.gpu;
        room.free = minus(gpu.free_bytes, room.free);
        room.if_empty = std::min(gpu.total_bytes, plus(gpu.free_bytes, room.held));
        room.has_foreign_processes = gpu.mps ? false : room.foreign_contexts() > 0;
        if (gpu.processes == 0 && gpu.total_bytes - room.if_empty > unexplained_bytes)
            room.has_foreign_processes = true;
    }

    /// What must be free for the need to be met: more where strangers are, who may come to want more themselves.
    std::uint64_t ample(const Capacity& room, std::uint64_t need) const {
        if (!room.has_foreign_processes) return need;
        // Where even an empty GPU has not so many times the need, half of what it has beyond the need will do.
        const double total = double(room.gpu->total_bytes);
        return std::uint64_t(std::ceil(std::min(rules_.foreign_headroom * double(need), (double(need) + total) / 2)));
    }
    bool contended(const Capacity& room, std::uint64_t need, std::uint64_t free) const {
        return free < ample(room, need) || room.foreign_processes_are_busy(rules_);
    }

    bool over_user_limit(const Ticket& ticket) const {
        if (!rules_.max_shares_per_user) return false;
        const auto found = shares_.find(ticket.uid);
        return (found == shares_.end() ? 0 : found->second) + ticket.gpus > rules_.max_shares_per_user;
    }

    /// The `ticket.gpus` GPUs of the highest score among those where `possible`; 0: there are not so many.
    template <class Possible, class Score>
    GpuSet choose(const Ticket& ticket, Possible possible, Score score) const {
        GpuSet open = 0, chosen = 0;
        for (int g = 0; g < count_; ++g)
            if (possible(g)) open |= GpuSet(1) << g;
        if (ticket.gpus < 1 || std::popcount(open) < ticket.gpus) return 0;
        for (int n = 0; n < ticket.gpus; ++n) {
            int top = -1;
            for (int g = 0; g < count_; ++g)
                if (open >> g & 1 && (top < 0 || score(rooms_[g]) > score(rooms_[top]))) top = g;
            open &= ~(GpuSet(1) << top);
            chosen |= GpuSet(1) << top;
        }
        return chosen;
    }

    /// The most room for each of those who would then share the GPU; a busy stranger counts as half a sharer.
    GpuSet best(const Ticket& ticket) const {
        const auto score = [](const Capacity& room) {
            const int busy = room.has_foreign_processes && room.gpu->utilization_percent > 50;
            return room.free / std::uint64_t(2 + 2 * (room.holders + room.coming) + busy);
        };
        return choose(
            ticket, [&](int g) { return obstacle(ticket, g) == Obstacle::none; }, score);
    }

    void grant(const Ticket& ticket, GpuSet gpus) {
        for (int g = 0; g < count_; ++g)
            if (gpus >> g & 1) {
                const std::uint64_t need = required(ticket, rooms_[g]);
                rooms_[g].free -= need, rooms_[g].beside = minus(rooms_[g].beside, need);
                ++rooms_[g].coming;
            }
        if (rules_.max_shares_per_user) shares_[ticket.uid] += ticket.gpus;
    }

    /// Keeps everybody behind `ticket` out of its way on the GPUs that it will have first. They may have what it will
    /// not need: once those are gone who came before it, it runs beside those who came later. Preferred are GPUs where
    /// these leave it room already; among them, and among the rest, those that are most free but for them. What only
    /// strangers hold up is kept for nobody.
    void promise(const Ticket& ticket) {
        std::array<std::uint64_t, most_gpus> later{};
        for (const Reservation& r : snapshot_.reservations)
            if (r.gpu >= 0 && r.gpu < count_ && r.arrived_ns > ticket.arrived_ns)
                later[r.gpu] = plus(later[r.gpu], std::max(r.reserved_bytes, r.held_bytes));
        const auto beside = [&](const Capacity& room) {  // negative: they are in its way
            return double(room.if_empty) - double(ample(room, required(ticket, room))) - double(later[index(room)]);
        };
        const auto possible = [&](int g) {
            const Capacity& room = rooms_[g];
            const std::uint64_t need = required(ticket, room);
            return is_candidate(ticket, g) && room.gpu->mode != ComputeMode::prohibited && !room.promised &&
                   room.if_empty >= need &&
                   room.foreign_contexts() < (room.one_at_a_time() ? 1 : room.gpu->most_contexts) &&
                   !contended(room, need, room.if_empty);
        };
        const GpuSet kept = choose(ticket, possible, [&](const Capacity& room) {
            const bool leave_room = beside(room) >= 0;
            return std::pair(leave_room, plus(room.free, leave_room ? later[index(room)] : 0));
        });
        for (Capacity& room : rooms_)
            if (kept >> index(room) & 1) {
                room.promised = true;
                room.beside = room.one_at_a_time() ? 0 : std::uint64_t(std::max(0.0, beside(room)));
            }
    }
    std::size_t index(const Capacity& room) const { return std::size_t(&room - rooms_.data()); }

    void explain(const Ticket& ticket, Decision& decision) const {
        decision.obstacle = Obstacle::no_such_gpu;
        for (int g = 0; g < count_; ++g) {
            const Obstacle here = obstacle(ticket, g);
            if (here == Obstacle::no_such_gpu || (decision.gpu >= 0 && rooms_[g].free <= decision.available_bytes))
                continue;
            decision.gpu = g;
            decision.available_bytes = rooms_[g].free;
            decision.required_bytes = required(ticket, rooms_[g]);
            // Of several GPUs this one may be ready, and the others not.
            decision.obstacle = here == Obstacle::none ? Obstacle::memory : here;
        }
    }

    const Snapshot& snapshot_;
    const Rules& rules_;
    int count_;
    std::array<Capacity, most_gpus> rooms_{};
    std::map<std::uint32_t, int> shares_, tickets_of_;  // by user
    int looked_at_ = 0;
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

bool still_fits(const Snapshot& snapshot, const Rules& rules, const Ticket& ticket, GpuSet gpus) {
    const Scheduler state(snapshot, rules);
    for (int g = 0; g < most_gpus; ++g)
        if (gpus >> g & 1 && (g >= int(snapshot.gpus.size()) || state.obstacle(ticket, g) != Obstacle::none))
            return false;
    return gpus != 0;
}

bool ever_fits(const Snapshot& snapshot, const Ticket& ticket) {
    int possible = 0;
    for (std::size_t g = 0; g < snapshot.gpus.size() && g < most_gpus; ++g) {
        const Gpu& gpu = snapshot.gpus[g];
        possible += ticket.candidates >> g & 1 && gpu.mode != ComputeMode::prohibited &&
                    plus(ticket.need_bytes, gpu.context_bytes) <= gpu.total_bytes;
    }
    return possible >= ticket.gpus;
}

}  // namespace glint::gpu::lease
