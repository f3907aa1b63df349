// Which GPUs reach each other's memory; each pair is tried with a real copy before it is trusted.
// SPDX-License-Identifier: MIT
#pragma once

#include "gpu/allocation.hpp"

namespace glint::gpu::detail {

enum class PeerAccess { no, yes, untested };

/// Whether `from`'s GPU reaches the memory of `home`. Enabled and tried at the first call, which takes some ms; untried
/// as long as there is no room to try. Throws DeviceLost.
PeerAccess peer_access(ContextState& from, ContextState& home);

/// Throws a GpuError that names both GPUs, or OutOfMemory where it could not be tried, when a kernel on `stream` cannot
/// reach the memory.
void require_peer_access(const Allocation& allocation, const Stream& stream);

}  // namespace glint::gpu::detail
