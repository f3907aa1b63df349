// Which GPUs reach each other's memory; each pair is tried with a real copy before it is trusted.
// SPDX-License-Identifier: MIT
#pragma once

#include "gpu/allocation.hpp"

namespace glint::gpu::detail {

/// Whether `from`'s GPU reaches the memory of `home`. Enabled and tried at the first call, which takes some ms.
bool reaches(ContextState& from, ContextState& home);

/// Throws a GpuError that names both GPUs when a kernel on `stream` cannot reach the memory.
void require_reach(const Allocation& allocation, const Stream& stream);

}  // namespace glint::gpu::detail
