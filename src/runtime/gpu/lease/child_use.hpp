// GPU memory used by a child program that does not publish it itself; `glint lease` publishes it on its behalf.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>

#include "gpu/lease/gpu_probe.hpp"
#include "gpu/lease/state_dir.hpp"

namespace glint::gpu::lease {

/// Used memory of a GPU, in bytes, minus what other leases than `ours` have published as held. The rest belongs to that
/// lease, to foreign processes and to the driver itself.
std::uint64_t unexplained_bytes(const ObservedGpu& seen, const StateDir::Scan& scan, const SlotName& ours);

struct ChildUse {
    std::uint64_t bytes = 0;
    int contexts = 0;
};

/// The sum over the program's processes, where NVML lists them. Where it does not (in a container), `grown_bytes` is
/// attributed to the program: the growth of unexplained_bytes() since it was started.
ChildUse use_by_child(const ObservedGpu& seen, const std::function<bool(unsigned pid)>& is_its,
                      std::uint64_t grown_bytes);

}  // namespace glint::gpu::lease
