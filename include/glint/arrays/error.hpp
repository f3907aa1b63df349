// The exceptions of operations on arrays, in addition to those of the GPU runtime.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/gpu/error.hpp"

namespace glint::arrays {

/// A library that an operation needs (libcublas, libcufft, libcusolver) is missing; `what()` contains the remedy.
class LibraryMissing : public gpu::GpuError {
  public:
    using GpuError::GpuError;
};

}  // namespace glint::arrays
