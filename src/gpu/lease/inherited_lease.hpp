// A lease that one program has and others run under: what they are told of it, and how they find it again.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu/lease/lease_state.hpp"

namespace glint::gpu::lease {

/// The variable that names the lease a program runs under, as "slot.1000.3:17": never the same again once it has ended.
constexpr const char* inherited_variable = "GLINT_LEASE";
std::string name_of_lease(const SlotName& slot, std::uint32_t occupancy);

/// The lease that `around.inherited` names. Null where none does, it has ended, or none of its GPUs can be used here;
/// the request's log is told. Throws NoGpu when it has some of the GPUs asked for but not all.
std::unique_ptr<LeaseState> inherit_lease(const Dependencies& deps, const LeaseRequest& request);

/// Lease::child_environment().
std::vector<std::pair<std::string, std::string>> child_environment(const LeaseState& state);

}  // namespace glint::gpu::lease
