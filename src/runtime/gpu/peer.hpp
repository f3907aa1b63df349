// Peer access between GPUs, verified by a real copy for each pair of contexts.
// SPDX-License-Identifier: MIT
#pragma once

#include "gpu/allocation.hpp"

namespace glint::gpu::detail {

enum class PeerAccess { no, yes, untested };

/// Whether the GPU of `from` can access the memory of `home`. The first call enables and tests it, which takes some ms;
/// `untested` as long as there is no memory for the test. Throws DeviceLost.
PeerAccess peer_access(ContextState& from, ContextState& home);

/// Throws where a kernel on `stream` cannot access the memory: a GpuError that names both GPUs, or OutOfMemory where
/// access could not be tested.
void require_peer_access(const Allocation& allocation, const Stream& stream);

}  // namespace glint::gpu::detail
