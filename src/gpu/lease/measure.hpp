// Finds out what a context costs, and how many a GPU holds, by the contexts that are made anyway.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace glint::gpu::lease {

/// A GPU that refuses with fewer has another reason.
constexpr std::uint32_t min_credible_context_limit = 16;

/// Made before a context is created; asked after that succeeded or failed.
class ContextMeasurement {
  public:
    ContextMeasurement(int ordinal, const std::string& uuid);
    /// What this process takes of the GPU now that its context is there and nothing else; 0: not known, because the
    /// context was there before, or because NVML does not show this process (a container).
    std::uint64_t context_bytes() const;
    /// How many processes the GPU has when it refused one more though it has memory for it; 0: it was full, or nearly
    /// empty.
    int contexts_when_full() const;

  private:
    std::string uuid_;
    bool was_there_;
};

}  // namespace glint::gpu::lease
