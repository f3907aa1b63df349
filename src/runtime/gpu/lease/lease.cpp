// The public class Lease, and acquire().
//
// How a lease is acquired (gpu-sharing.md describes the protocol):
// - acquire() calls broker.cpp. It takes a slot (slot.cpp) in the directory that all users share (state_dir.cpp;
//   record.cpp is the content of a slot), publishes a ticket, and evaluates the queue.
// - gpu_probe.cpp reads NVML, and queue.cpp joins its data with the slots. policy.cpp decides; it uses no clock and no
//   files.
// - A process that has to wait uses poll_schedule.cpp, watch.cpp and clock.cpp.
// - context_creation_lock.cpp serialises the creation of contexts.
// - heartbeat.cpp updates the published state of a held lease, leased_context.cpp the bytes that its contexts have
//   allocated.
// - Waiting requests write to one file (waiting_file.cpp), so that holders need not read all slots (waiters.cpp).
// - history.cpp stores past leases, for display.
// - inherited_lease.cpp passes a lease to a child process, and measure.cpp measures the child's use (`glint lease`).
//
// There is no daemon, and no root access is needed; docs/decisions/0027-gpu-sharing-without-daemon.md explains why this
// is safe when processes are killed or stopped.
// SPDX-License-Identifier: MIT
#include "glint/gpu/lease.hpp"

#include <algorithm>
#include <mutex>

#include "glint/environment.hpp"
#include "glint/gpu/device.hpp"
#include "gpu/driver.hpp"
#include "gpu/lease/history.hpp"
#include "gpu/lease/inherited_lease.hpp"
#include "gpu/lease/lease_state.hpp"
#include "gpu/lease/measure.hpp"
#include "gpu/lease/queue.hpp"
#include "gpu/limit.hpp"
#include "gpu/process.hpp"

namespace glint::gpu {

Lease::Lease(std::unique_ptr<lease::LeaseState> state) : state_(std::move(state)) {}
Lease::Lease(Lease&&) noexcept = default;
Lease& Lease::operator=(Lease&&) noexcept = default;
Lease::~Lease() = default;

const std::vector<LeasedDevice>& Lease::devices() const { return state_->devices; }
double Lease::waited_s() const { return state_->waited_s; }

std::uint64_t Lease::bytes() const {
    const std::lock_guard lock(state_->mutex);
    return state_->bytes;
}

bool Lease::visible() const {
    const std::lock_guard lock(state_->mutex);
    return !state_->name().empty();
}

Lease::CreationLock Lease::lock_context_creation(std::size_t device, const LeaseRequest& request) const {
    return state_->lock_context_creation(device, request, 0);
}

Context Lease::create_context(std::size_t device, ContextOptions options) const {
    const LeasedDevice& where = state_->devices.at(device);
    if (options.limit_bytes == 0) options.limit_bytes = bytes();
    std::optional<CreationLock> creation_lock = state_->take_creation_lock(device);
    if (!creation_lock) creation_lock = lock_context_creation(device);
    const lease::ContextMeasurement measurement(where.ordinal, where.uuid);
    try {
        Context context(where.ordinal, options);
        state_->learn(device, measurement.context_bytes(), 0);
        const auto account = std::make_shared<lease::LeasedContext>(*state_, device, context.state());
        context.state().account = account;  // before the heartbeat can find it
        {
            const std::lock_guard lock(state_->mutex);
            state_->contexts.push_back(account);
        }
        account->publish();
        return context;
    } catch (const OutOfMemory&) {
        state_->learn(device, 0, measurement.contexts_when_full());
        throw;
    }
}

void Lease::publish_held(std::uint64_t bytes, std::size_t device) const {
    const std::lock_guard lock(state_->mutex);
    state_->told_bytes.at(device) = bytes;
    state_->publish_held(device);
}

void Lease::publish_held() const {
    for (const auto& context : state_->open_contexts()) context->publish();
}

void Lease::shrink(std::uint64_t bytes) {
    const std::lock_guard lock(state_->mutex);
    if (bytes >= state_->bytes) return;
    state_->bytes = bytes;
    if (!state_->slot) return;
    state_->slot->record.need_bytes = bytes;
    for (std::size_t k = 0; k < state_->devices.size(); ++k) {
        lease::Share& share = state_->slot->record.shares[k];
        share.reserved_bytes = state_->devices[k].context_bytes + bytes;
        share.held_bytes = std::min(share.held_bytes, share.reserved_bytes);
    }
    state_->publish();
    state_->slot->notify_watchers();
}

bool Lease::others_wait() const {
    const std::lock_guard lock(state_->mutex);
    return state_->shortest_wait_s().has_value();
}

void Lease::on_wanted(std::function<void(double)> callback) {
    const std::lock_guard lock(state_->mutex);
    state_->on_wanted = std::move(callback);
}

int Lease::keep_for_child() {
    const std::lock_guard lock(state_->mutex);
    return state_->keep_for_child();
}

std::vector<unsigned> Lease::kept_by() const {
    const std::lock_guard lock(state_->mutex);
    if (!state_->slot) return {};
    return writers_of(state_->directory->path() + '/' + state_->slot->name().text());
}

std::vector<std::pair<std::string, std::string>> Lease::child_environment() const {
    const std::lock_guard lock(state_->mutex);
    return lease::child_environment(*state_);
}

void Lease::publish_held_by_child(int pid) const {
    const std::lock_guard lock(state_->mutex);
    state_->publish_held_by(unsigned(pid));
}

Lease acquire(const LeaseRequest& request) {
    const Inventory there = inventory();
    if (!why_disabled().empty()) usable_driver();  // throws
    // Before a directory is created.
    if (!there.worth_waiting()) throw NoGpu(0, there.why_none);
    // At most the bytes that the context may allocate: a larger lease would block others for nothing.
    std::uint64_t limit = 0;
    for (const Device& device : there.devices)
        limit = std::max(limit, environment::gpu_memory_limit_bytes(device.total_bytes));
    LeaseRequest within = request;
    within.bytes = smaller_limit(request.bytes, limit);
    Lease lease(lease::acquire_state(lease::machine_dependencies(), within));
    if (const auto& slot = lease.state_->slot; slot && slot->record.state == lease::State::holding)
        lease::note_begin(*lease.state_->directory, *slot, lease.devices());
    lease.start_heartbeat();
    lease.state_->prepare_context(within);
    return lease;
}

void Lease::start_heartbeat() {
    if (!visible()) return;
    state_->heartbeat.emplace([state = state_.get()] {
        if (const std::function<void()> on_wanted = state->beat()) on_wanted();
    });
}

}  // namespace glint::gpu
