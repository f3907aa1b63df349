// A lock that serialises the creation of CUDA contexts on each GPU: 32 created at once take 5 s each, in turn 0.3 s each.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "gpu/lease/clock.hpp"
#include "gpu/lease/record.hpp"
#include "gpu/lease/state_dir.hpp"

namespace glint::gpu::lease {

/// Creating a context never takes this long, so a lock held for longer belongs to a stopped process and is ignored.
constexpr double creation_lock_stall_s = 5;
/// The longest wait for the lock while it keeps changing hands.
constexpr double creation_lock_timeout_s = 120;

/// Waits for the lock of a GPU; it is released with the last copy of the result. Null after a timeout or where no lock
/// file can be opened: the lock is an optimisation, so the caller creates its context anyway.
std::shared_ptr<void> lock_context_creation(const StateDir& directory, const GpuId& gpu, Clock& clock);

}  // namespace glint::gpu::lease
