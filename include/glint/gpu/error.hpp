// What can go wrong on a GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "glint/error.hpp"

namespace glint::gpu {

/// A call of the driver failed. `code` is CUDA's (700: illegal address), `what()` names the call and the remedy.
class GpuError : public Error {
  public:
    GpuError(int result, const std::string& message) : Error(message), code(result) {}
    const int code;
};

/// There is no GPU that can be used; `what()` says why and what to do.
class NoGpu : public GpuError {
  public:
    using GpuError::GpuError;
};

/// The GPU, or the limit set for this context, has no room for an allocation.
class OutOfMemory : public GpuError {
  public:
    OutOfMemory(int result, const std::string& message, std::uint64_t asked, bool by_limit = false,
                std::uint64_t free = 0)
        : GpuError(result, message), asked_bytes(asked), beyond_limit(by_limit), free_bytes(free) {}
    const std::uint64_t asked_bytes;  ///< 0: for a context
    const bool beyond_limit;          ///< of this context: to wait for others is no use
    const std::uint64_t free_bytes;   ///< where the memory was to come from, right after; 0: not known
};

/// An error after which this process cannot use the GPU again (an illegal address, say). Its memory comes back when
/// the process ends.
class DeviceLost : public GpuError {
  public:
    using GpuError::GpuError;
};

}  // namespace glint::gpu
