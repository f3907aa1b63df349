// The exceptions of the GPU runtime.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "glint/error.hpp"

namespace glint::gpu {

/// A driver call failed. `code` is the CUDA result (700: illegal address); `what()` names the call and the remedy.
class GpuError : public Error {
  public:
    GpuError(int result, const std::string& message) : Error(message), code(result) {}
    const int code;
};

/// No GPU can be used; `what()` contains the reason and the remedy.
class NoGpu : public GpuError {
  public:
    using GpuError::GpuError;
};

/// An allocation exceeds the free memory of the GPU, or the limit of the context.
class OutOfMemory : public GpuError {
  public:
    OutOfMemory(int result, const std::string& message, std::uint64_t asked, bool by_limit = false,
                std::uint64_t free = 0)
        : GpuError(result, message), asked_bytes(asked), beyond_limit(by_limit), free_bytes(free) {}
    const std::uint64_t asked_bytes;  ///< size of the allocation; 0: a context, or unknown
    const bool beyond_limit;          ///< the context's own limit: waiting for other processes does not help
    const std::uint64_t free_bytes;   ///< on the device, just after the failure; 0: unknown
};

/// A sticky error, such as an illegal address: this process cannot use the GPU again. The memory of the process on the
/// GPU is freed when the process ends.
class DeviceLost : public GpuError {
  public:
    using GpuError::GpuError;
};

}  // namespace glint::gpu
