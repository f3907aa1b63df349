// The writes of one request, each of a whole record (slot.cpp).
// SPDX-License-Identifier: MIT
#include "gpu/lease/own_record.hpp"

#include <algorithm>

#include "gpu/lease/queue.hpp"

namespace glint::gpu::lease {

bool OwnRecord::take(const StateDir& directory, std::string& why_not) {
    slot_ = Slot::take(directory, why_not);
    if (!slot_) return false;
    Record& record = slot_->record;
    // The arrival time is the ticket number. A counter would have to be read before it is incremented, and any user
    // could exhaust it by writing a very large number.
    record.arrived_ns = arrived_ns_;
    record.since_ns = arrived_ns_;
    record.gpus = std::uint32_t(request_.gpus);
    record.need_bytes = request_.bytes;
    record.expected_ms = std::uint32_t(std::clamp(request_.expected_s * 1e3, 0.0, 4e9));
    return true;
}

bool OwnRecord::publish_ticket(const std::vector<GpuId>& usable) {
    Record& record = slot_->record;
    record.state = State::waiting;
    record.share_count = 0;
    for (const GpuId& gpu : usable)
        if (record.share_count < Record::max_shares) record.shares[record.share_count++] = {gpu, 0, 0};
    return heartbeat();
}

bool OwnRecord::heartbeat() {
    slot_->record.beat_ns = clock_.now_ns();
    return slot_->publish();
}

double OwnRecord::seconds_to_heartbeat() const {
    return heartbeat_interval_s - double(clock_.now_ns() - slot_->record.beat_ns) / 1e9;
}

bool OwnRecord::publish_claim(const std::vector<Share>& shares, std::uint64_t at_ns) {
    Record& record = slot_->record;
    record.state = State::claiming;
    record.since_ns = at_ns;
    record.share_count = std::uint32_t(shares.size());
    std::ranges::copy(shares, record.shares.begin());
    return heartbeat();
}

bool OwnRecord::publish_lease() {
    slot_->record.state = State::holding;
    auto& admissions = slot_->record.admissions;
    std::rotate(admissions.begin(), admissions.end() - 1, admissions.end());
    admissions.front() = {arrived_ns_, clock_.now_ns()};
    return slot_->publish();
}

void OwnRecord::forget_admission() {
    auto& admissions = slot_->record.admissions;
    std::rotate(admissions.begin(), admissions.begin() + 1, admissions.end());
    admissions.back() = {};
}

void OwnRecord::withdraw_claim(const std::vector<GpuId>& usable) {
    slot_->record.since_ns = arrived_ns_;
    publish_ticket(usable);
    slot_->notify_watchers();
}

}  // namespace glint::gpu::lease
