// Parts of a lease: what the processes under `glint lease` have of it, together no more than it reserves.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gpu/lease/broker.hpp"

namespace glint::gpu::lease {

/// A GPU of the lease, and what a context takes there.
struct PartGpu {
    ObservedGpu gpu;
    std::uint64_t context_bytes;
};

struct LeasePart {
    std::vector<PartGpu> gpus;  ///< as many as were requested
    std::optional<Slot> slot;   ///< none: the part could not be published, so the others do not know of it
    double waited_s = 0;
};

/// Blocks until the other parts of `lease` leave room for `request` on as many of `gpus` as are asked for, those with the
/// most room first. The amount is what the lease reserves if the request is for more; each further process with a part on a
/// GPU takes the memory of another context from the lease. Throws LeaseTimeout and Cancelled.
LeasePart admit_part(const Dependencies& deps, const LeaseRequest& request, const ScannedSlot& lease,
                     const std::vector<PartGpu>& gpus);

/// Whether `record` is of a part of the lease in `slot`.
bool is_part_of(const Record& record, const SlotName& slot, std::uint32_t occupancy);

}  // namespace glint::gpu::lease
