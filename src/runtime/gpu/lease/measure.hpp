// Measures, whenever a context is created anyway, the memory that it takes and how many contexts a GPU holds. Also
// measures the use by a child program.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "gpu/lease/gpu_probe.hpp"
#include "gpu/lease/state_dir.hpp"

namespace glint::gpu::lease {

/// A GPU that refuses a context although fewer contexts exist than this has another reason than their number.
constexpr std::uint32_t min_credible_context_limit = 16;

/// Construct before creating a context; query after that succeeded or failed.
class ContextMeasurement {
  public:
    ContextMeasurement(int ordinal, const std::string& uuid);
    /// Returns the bytes that this process uses on the GPU with its context and nothing else; 0: unknown, because the
    /// context existed before, or because NVML does not list this process (in a container).
    std::uint64_t context_bytes() const;
    /// The number of processes on a GPU that refused one more context although it has memory for it; 0: the GPU was out
    /// of memory, or had too few processes for this to be the reason.
    int contexts_when_full() const;

  private:
    std::string uuid_;
    bool was_there_;
};

/// For memory used by a child program that does not publish it itself; `glint lease` publishes it on its behalf.
/// Returns the used bytes of a GPU minus the bytes that leases other than `ours` have published as held. The rest
/// belongs to our lease, to foreign processes and to the driver.
std::uint64_t unexplained_bytes(const ObservedGpu& seen, const StateDir::Scan& scan, const SlotName& ours);

struct ChildUse {
    std::uint64_t bytes = 0;
    int contexts = 0;
};

/// Returns the sum over the program's processes, if NVML lists them. If it does not (in a container), attributes
/// `grown_bytes` to the program: the growth of unexplained_bytes() since it was started.
ChildUse use_by_child(const ObservedGpu& seen, const std::function<bool(unsigned pid)>& is_its,
                      std::uint64_t grown_bytes);

}  // namespace glint::gpu::lease
