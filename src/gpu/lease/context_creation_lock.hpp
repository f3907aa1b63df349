// One context at a time on each GPU: 32 that are created at once take 5 s each, one after the other 0.3 s.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "gpu/lease/clock.hpp"
#include "gpu/lease/record.hpp"
#include "gpu/lease/state_dir.hpp"

namespace glint::gpu::lease {

/// Nobody takes so long to create a context: who has had the turn for longer is stopped, and is not waited for.
constexpr double creation_lock_stall_s = 5;
/// Where hands change all the time, one does not wait for longer than this.
constexpr double creation_lock_timeout_s = 120;

/// Waits for the turn on a GPU; it ends with the last copy. Null where there is no lock to be had: that only costs
/// time.
std::shared_ptr<void> lock_context_creation(const StateDir& directory, const GpuId& gpu, Clock& clock);

}  // namespace glint::gpu::lease
