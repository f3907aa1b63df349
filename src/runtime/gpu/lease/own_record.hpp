// The state that one request publishes in its slot: a ticket, then a claim, then a lease.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "glint/gpu/lease.hpp"
#include "gpu/lease/clock.hpp"
#include "gpu/lease/slot.hpp"

namespace glint::gpu::lease {

/// Has no slot until take() has found one, and after drop(). One thread. `clock` and `request` must outlive it.
class OwnRecord {
  public:
    OwnRecord(Clock& clock, const LeaseRequest& request, std::uint64_t arrived_ns)
        : clock_(clock), request_(request), arrived_ns_(arrived_ns) {}

    /// Takes a slot and fills in the ticket, with the original arrival time in any slot. Publishes nothing yet. Returns
    /// false, with the reason, if no slot is free.
    bool take(const StateDir& directory, std::string& why_not);
    void drop() { slot_.reset(); }
    bool has_slot() const { return slot_.has_value(); }
    Slot& slot() { return *slot_; }
    const Slot& slot() const { return *slot_; }
    std::optional<Slot> hand_over() { return std::exchange(slot_, std::nullopt); }

    /// Publishes the state `waiting` and the usable GPUs. These GPUs are not reserved; they only inform the policy of
    /// other processes. This function and the next three return false if other processes do not see the record.
    bool publish_ticket(const std::vector<GpuId>& usable);
    /// A waiting ticket without a recent heartbeat counts as stopped, and other tickets overtake it. The record is
    /// written without closing the file, so heartbeats wake nobody: only a close raises IN_CLOSE_WRITE.
    bool heartbeat();
    bool heartbeat_is_due() const { return seconds_to_heartbeat() <= 0; }
    double seconds_to_heartbeat() const;
    /// Publishes a claim. Between two claims the earlier ticket wins, not the earlier claim.
    bool publish_claim(const std::vector<Share>& shares, std::uint64_t at_ns);
    /// Publishes the lease, and its admission in the same write: earlier tickets must not see the lease without
    /// counting that it overtook them (starvation limit). The admission stays in the file for the slot's next owners,
    /// so that it counts even after this process has ended or was killed.
    bool publish_lease();
    /// Call this function if the lease was not granted, so that nobody was overtaken.
    void forget_admission();
    /// Returns to `waiting`, and wakes the requests that the claim may have blocked.
    void withdraw_claim(const std::vector<GpuId>& usable);

  private:
    Clock& clock_;
    const LeaseRequest& request_;
    std::uint64_t arrived_ns_;
    std::optional<Slot> slot_;
};

}  // namespace glint::gpu::lease
