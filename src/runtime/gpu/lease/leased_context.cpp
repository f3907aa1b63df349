// Publishes the memory of a context in an order that other processes can rely on.
// SPDX-License-Identifier: MIT
#include "gpu/lease/leased_context.hpp"

#include <utility>

#include "gpu/lease/lease_state.hpp"
#include "gpu/pool.hpp"

namespace glint::gpu::lease {

void LeasedContext::publish(std::uint64_t bytes) {
    if (!lease_) return;
    const std::lock_guard lock(lease_->mutex);
    if (held_bytes == bytes && lease_->shows_context(device)) return;
    held_bytes = bytes;
    lease_->publish_held(device);
}

void LeasedContext::publish() {
    const std::lock_guard lock(mutex_);
    if (context_) publish(detail::reserved_bytes(*context_));
}

void LeasedContext::reclaim(bool wanted) {
    const std::lock_guard lock(mutex_);
    if (!context_) return;
    // Querying the device's free memory has a cost, so it is done only if the answer matters.
    const bool was_wanted = std::exchange(was_wanted_, wanted);
    if (wanted || was_wanted || detail::could_give_back(*context_)) detail::reclaim_under_pressure(*context_, wanted);
}

bool LeasedContext::is_wanted() {
    const std::lock_guard lock(mutex_);
    if (!lease_) return false;
    const std::lock_guard lease_lock(lease_->mutex);
    return lease_->shortest_wait_s().has_value();
}

void LeasedContext::end_lease() {
    const std::lock_guard lock(mutex_);
    lease_ = nullptr;
}

// The number of bytes that the release will leave is unknown, as the device may be freeing more. So nothing counts as
// held meanwhile, and the actual number is published afterwards. The mutex stays locked, so that a heartbeat does not
// publish an older value in between.
void LeasedContext::give_back(const std::function<void()>& release) {
    const std::lock_guard lock(mutex_);
    publish(0);
    release();
    if (context_) publish(detail::reserved_bytes(*context_));
}

void LeasedContext::close() noexcept {
    const std::lock_guard lock(mutex_);
    context_ = nullptr;
    if (lease_) lease_->drop(*this);
}

}  // namespace glint::gpu::lease
