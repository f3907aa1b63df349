// Leases that are passed to child programs: the environment of the child, and how the child finds the lease.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu/lease/lease_state.hpp"

namespace glint::gpu::lease {

/// The variable with the name of the lease that a program runs under: "slot.UID.NUMBER:OCCUPANCY", as in
/// "slot.1000.3:17". The occupancy makes the name unique, so that a later lease in the same slot has another name.
constexpr const char* inherited_variable = "GLINT_LEASE";
std::string name_of_lease(const SlotName& slot, std::uint32_t occupancy);

/// A part of the lease that `deps.inherited` names, as soon as its other parts leave room. Null, with a line in the request's log, where the variable is unset,
/// that lease has ended, or none of its GPUs can be used here. Throws NoGpu when it has fewer GPUs than requested; LeaseTimeout; Cancelled.
std::unique_ptr<LeaseState> inherit_lease(const Dependencies& deps, const LeaseRequest& request);

/// Lease::child_environment().
std::vector<std::pair<std::string, std::string>> child_environment(const LeaseState& state);

}  // namespace glint::gpu::lease
