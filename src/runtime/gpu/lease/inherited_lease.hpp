// Leases that are passed to child programs: the environment of the child, and how the child finds the lease.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/lease/broker.hpp"
#include "gpu/lease/lease_state.hpp"

namespace glint::gpu::lease {

/// A GPU of the lease, and the memory that a context takes there.
struct PartGpu {
    ObservedGpu gpu;
    std::uint64_t context_bytes;
};

/// The part of a lease for a process under `glint lease`. All parts together are at most what the lease reserves.
struct LeasePart {
    std::vector<PartGpu> gpus;  ///< as many as were requested
    std::optional<Slot> slot;   ///< empty: the part could not be published, so other processes do not see it
    double waited_s = 0;
};

/// Blocks until the other parts of `lease` leave room for `request` on the requested number of `gpus`. Prefers the GPUs
/// with the most room. A request for more than the lease reserves gets the reserved amount. Each further process with a
/// part on a GPU uses the memory of another context from the lease. Throws LeaseTimeout and Cancelled.
LeasePart admit_part(const Dependencies& deps, const LeaseRequest& request, const ScannedSlot& lease,
                     const std::vector<PartGpu>& gpus);

/// Whether `record` is a part of the lease in `slot`.
bool is_part_of(const Record& record, const SlotName& slot, std::uint32_t occupancy);

/// The variable with the name of the lease under which a program runs: "slot.UID.NUMBER:OCCUPANCY", as in
/// "slot.1000.3:17". The occupancy makes the name unique, so that a later lease in the same slot has another name.
constexpr const char* inherited_variable = "GLINT_LEASE";
std::string name_of_lease(const SlotName& slot, std::uint32_t occupancy);

/// Returns a part of the lease that `deps.inherited` names, as soon as its other parts leave room. Returns null, with a
/// line in the request's log, if the variable is unset, that lease has ended, or none of its GPUs can be used here.
/// Throws LeaseTimeout, Cancelled, and NoGpu if the lease has fewer GPUs than requested.
std::unique_ptr<LeaseState> inherit_lease(const Dependencies& deps, const LeaseRequest& request);

/// Lease::child_environment().
std::vector<std::pair<std::string, std::string>> child_environment(const LeaseState& state);

}  // namespace glint::gpu::lease
