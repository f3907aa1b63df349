// What a program that knows nothing of leases takes of a GPU, for whoever started it to publish.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>

#include "gpu/lease/gpu_probe.hpp"
#include "gpu/lease/state_dir.hpp"

namespace glint::gpu::lease {

/// Memory in use on a GPU that no lease but `ours` holds: that lease's, strangers', and the driver's own.
std::uint64_t unexplained_bytes(const ObservedGpu& seen, const StateDir::Scan& scan, const SlotName& ours);

struct ChildUse {
    std::uint64_t bytes = 0;
    int contexts = 0;
};

/// By the processes of the program, where NVML shows them. Where it hides them, as in a container, `grown_bytes` is
/// taken for the program's: by how much more is unexplained than when it was started.
ChildUse use_by_child(const ObservedGpu& seen, const std::function<bool(unsigned pid)>& is_its,
                      std::uint64_t grown_bytes);

}  // namespace glint::gpu::lease
