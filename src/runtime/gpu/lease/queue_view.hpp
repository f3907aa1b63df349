// The state that one request sees, and the policy's decision on it: GPUs by NVML, and the records of the state
// directory.
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

/// Returns true if this process (or its child, for `glint lease`) can use the GPU, and the request does not avoid it.
bool is_eligible(const ObservedGpu& seen, const LeaseRequest& request);

/// The last view of GPUs and queue. One thread. All arguments of the constructor must outlive it.
class QueueView {
  public:
    QueueView(GpuProbe& probe, Clock& clock, const Rules& rules, const LeaseRequest& request, const OwnRecord& own)
        : probe_(probe), clock_(clock), rules_(rules), request_(request), own_(own) {}

    /// The first evaluation, with NVML alone. Throws if no wait could help: too few GPUs, or more memory than the
    /// largest has.
    void begin(std::uint64_t arrived_ns);

    enum class Look { complete, too_many_files, own_ticket_is_gone };
    /// Reads the directory, and NVML if `ask_nvml`. Without a slot, only reads NVML, as if no other request waited.
    Look look(const StateDir& directory, bool ask_nvml);
    /// Applies the policy to the last evaluation. Throws NoGpu if there are no longer enough GPUs. Returns false if an
    /// earlier user has not started for too long: evaluate again immediately; that user is then skipped.
    bool decide(bool ask_nvml);

    /// Returns true if the request fits on the GPUs now, from a scan on each side of an NVML query. Memory that moves
    /// from "reserved" to "used" in between is counted at least once. Replaces the current view.
    bool fits(const StateDir& directory, GpuSet gpus, Claims which);
    /// Returns the shares to claim or lease on these GPUs. Each reserves the need plus one context; held_bytes is 0
    /// until a context is created.
    std::vector<Share> make_shares(GpuSet gpus) const;

    const Observation& observation() const { return observation_; }
    const Queue& queue() const { return queue_; }
    const Decision& decision() const { return decision_; }
    std::vector<GpuId> usable() const;

    bool is_head() const { return is_head(decision_); }
    bool is_near() const { return decision_.near; }
    QueuePosition position() const {
        return is_head() ? QueuePosition::head : is_near() ? QueuePosition::near : QueuePosition::far;
    }
    /// Returns true if the head of the queue is alive and polls NVML on behalf of all. While it does, other requests
    /// need not poll. Reads one file, not the directory.
    bool head_is_polling(const StateDir& directory) const;
    /// Whether earlier users could start at the last evaluation with NVML, before this one. These users may have
    /// started since.
    bool others_could_start() const { return others_could_start_; }
    /// Returns whether a foreign process has freed memory since the last call: watchers have not been notified yet.
    bool take_memory_was_freed() { return std::exchange(memory_was_freed_, false); }
    /// The slot of the ticket that a far ticket watches (QueuedRequest::narrow_watch).
    const SlotName& watched_ticket() const;

    /// Whether the process of each lease on the GPU waits for another lease (circle_message()).
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
    /// A ticket that only its user's limit holds back is not the head: it cannot run whatever NVML reports. If it were,
    /// its useless polls would prevent the polls of the tickets behind it. `place` does not count such tickets, so at
    /// most one ticket is the head.
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
