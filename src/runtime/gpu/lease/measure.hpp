// Measures the memory that a context takes, and how many contexts a GPU holds, whenever a context is created anyway.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace glint::gpu::lease {

/// A GPU that refuses a context with fewer than these present does so for another reason than their number.
constexpr std::uint32_t min_credible_context_limit = 16;

/// Constructed before a context is created; queried after that succeeded or failed.
class ContextMeasurement {
  public:
    ContextMeasurement(int ordinal, const std::string& uuid);
    /// Bytes that this process uses on the GPU, with its context and nothing else there; 0: unknown, because the context
    /// existed before, or because NVML does not list this process (in a container).
    std::uint64_t context_bytes() const;
    /// The number of processes on a GPU that refused one more context although it has memory for it; 0: the GPU was out
    /// of memory, or had too few processes for this to be the reason.
    int contexts_when_full() const;

  private:
    std::string uuid_;
    bool was_there_;
};

}  // namespace glint::gpu::lease
