// What one request sees, and what the policy decides from it: GPUs by NVML, and the records of the state directory.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "glint/gpu/lease.hpp"
#include "gpu/lease/gpu_probe.hpp"
#include "gpu/lease/observer_history.hpp"
#include "gpu/lease/own_record.hpp"
#include "gpu/lease/policy.hpp"
#include "gpu/lease/poll_schedule.hpp"
#include "gpu/lease/queue.hpp"
#include "gpu/lease/state_dir.hpp"

namespace glint::gpu::lease {

/// Whether this process (or the child that it asks for) can use the GPU, and the request does not exclude it.
bool is_eligible(const ObservedGpu& seen, const LeaseRequest& request);

/// The last view of GPUs and queue. One thread. All arguments of the constructor must live as long.
class QueueView {
  public:
    QueueView(GpuProbe& probe, Clock& clock, const Rules& rules, const LeaseRequest& request, const OwnRecord& own)
        : probe_(probe), clock_(clock), rules_(rules), request_(request), own_(own) {}

    /// The first look, at NVML alone. Throws where no wait could help: too few GPUs, or more memory than the largest one has.
    void begin(std::uint64_t arrived_ns);

    enum class Look { complete, too_many_files, own_ticket_is_gone };
    /// Reads the directory, and NVML if `ask_nvml`. Without a slot NVML alone, and nobody else waits.
    Look look(const StateDir& directory, bool ask_nvml);
    /// Applies the policy to the last look. Throws NoGpu where there are not enough GPUs any more. False: some user before has not
    /// started for too long, and is not waited for at the next look, which must come at once.
    bool decide(bool ask_nvml);

    /// Whether the request fits on the GPUs now, by a scan on each side of an NVML query: memory that moves from "reserved" to
    /// "used" during it is counted at least once, never zero times. Replaces the view by this one.
    bool fits(const StateDir& directory, GpuSet gpus, Claims which);
    /// What to claim or lease on each of them. Each share reserves the need plus one context; held_bytes is 0 until a context is
    /// created.
    std::vector<Share> shares_of(GpuSet gpus) const;

    const Observation& observation() const { return observation_; }
    const Queue& queue() const { return queue_; }
    const Decision& decision() const { return decision_; }
    std::vector<GpuId> usable() const;

    bool is_head() const { return is_head(decision_); }
    bool is_near() const { return decision_.near; }
    QueuePosition position() const {
        return is_head() ? QueuePosition::head : is_near() ? QueuePosition::near : QueuePosition::far;
    }
    /// Whether the head of the queue is alive and polls NVML on behalf of all. While it does, others need not poll. One
    /// file is read, not the directory.
    bool head_is_polling(const StateDir& directory) const;
    /// At the last look with NVML, before this one: whether they do is to be seen.
    bool others_could_start() const { return others_could_start_; }
    /// A foreign process has freed memory since the last call: watchers have not been notified yet.
    bool take_memory_was_freed() { return std::exchange(memory_was_freed_, false); }
    /// The slot of the ticket that a far one watches (QueuedRequest::narrow_watch).
    const SlotName& watched_ticket() const;

    /// Whether each lease on the GPU waits for another one (circle_message()).
    bool is_circle() const { return is_circle_; }
    std::string wait_reason(bool all_users = false) const;

  private:
    Self self() const;
    std::uint64_t now() const { return clock_.now_ns(); }
    double since(std::uint64_t then_ns) const { return double(now() - then_ns) / 1e9; }
    bool can_use(const ObservedGpu& seen) const { return is_eligible(seen, request_); }
    GpuSet candidates() const;
    void check_usable() const;
    void update_observation(Observation seen);
    bool found_idle_users(const std::vector<Decision>& decisions);
    bool claim_covers(GpuSet gpus) const;
    std::uint64_t to_reserve(std::size_t gpu) const { return reserved_bytes(queue_.snapshot, ticket_, gpu); }
    /// A ticket that only its user's limit holds back is no head: it cannot run whatever NVML says, and polling in vain
    /// it would keep the polls from those behind it. `place` counts such tickets as absent, so at most one ticket is
    /// the head.
    static bool is_head(const Decision& d) { return d.place == 0 && d.obstacle != Obstacle::user_limit; }

    GpuProbe& probe_;
    Clock& clock_;
    const Rules& rules_;
    const LeaseRequest& request_;
    const OwnRecord& own_;
    Ticket ticket_;
    Observation observation_;
    StateDir::Scan scan_;
    Queue queue_;
    ObserverHistory history_;
    Decision decision_;
    SlotName head_;  ///< slot of the queue's head, which polls NVML
    std::uint64_t scanned_at_ns_ = 0;
    bool others_could_start_ = false, memory_was_freed_ = false, is_circle_ = false;
};

}  // namespace glint::gpu::lease
