// What can go wrong with operations on arrays, beyond what can on a GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/gpu/error.hpp"

namespace glint::arrays {

/// A library that an operation needs (libcublas, libcufft, libcusolver) is not there; `what()` says how to get it.
class LibraryMissing : public gpu::GpuError {
  public:
    using GpuError::GpuError;
};

}  // namespace glint::arrays
