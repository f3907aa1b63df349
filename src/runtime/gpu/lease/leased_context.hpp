// The account of one context under a lease: publishes the bytes that its pool holds, before it frees them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "gpu/context_state.hpp"

namespace glint::gpu::lease {

struct LeaseState;

/// Shared by the context and its lease, either of which may end first. Locks its own mutex, then that of the lease.
class LeasedContext final : public detail::MemoryAccount {
  public:
    LeasedContext(LeaseState& lease, std::size_t on_device, detail::ContextState& context)
        : device(on_device), lease_(&lease), context_(&context) {}

    const std::size_t device;      ///< of the lease
    std::uint64_t held_bytes = 0;  ///< as last published; guarded by the lease's mutex

    /// Publishes the bytes that the pool holds now. A delay is safe: until then, other processes count new memory
    /// twice, as used and as reserved.
    void publish();
    /// Calls detail::reclaim_under_pressure() if there is anything to return.
    void reclaim(bool wanted);
    /// Called when the lease ends; the context may live longer.
    void end_lease();

    void give_back(const std::function<void()>& release) override;
    bool is_wanted() override;
    void close() noexcept override;

  private:
    void publish(std::uint64_t bytes);

    std::recursive_mutex mutex_;  // recursive: reclaim() calls give_back()
    LeaseState* lease_;           // null after its end
    detail::ContextState* context_;
    bool was_wanted_ = false;  // at the last reclaim()
};

}  // namespace glint::gpu::lease
