// Memory from a context's pool under its limit, and what is tried before an allocation fails.
// SPDX-License-Identifier: MIT
#pragma once

#include "gpu/stream_state.hpp"

namespace glint::gpu::detail {

/// Pooled memory in stream order, managed memory at once. Throw OutOfMemory after all else was tried.
cu::DevicePtr allocate_pooled(StreamState& stream, std::size_t bytes);
cu::DevicePtr allocate_managed_memory(ContextState& home, std::size_t bytes);
void uncount_live(ContextState& home, std::size_t bytes, Kind kind) noexcept;
/// Frees pooled memory in the order of the first user, behind the others; for the rest the host waits. Parked where
/// capture forbids that, or where it fails.
void free_memory(ContextState& home, DeferredFree due) noexcept;
[[noreturn]] void throw_out_of_memory(ContextState& home, std::size_t bytes, const char* advice);

void retry_deferred_frees(ContextState& home) noexcept;
void trim(ContextState& home);
std::uint64_t reserved_bytes(ContextState& home);  ///< by the pool
std::uint64_t used_bytes(ContextState& home);      ///< of it, until the device has come by the frees
std::uint64_t free_on_device(ContextState& home);

/// The host has waited: parked frees are tried again, and under pressure the pool's unused memory goes back early.
void at_synchronization(ContextState& home);

}  // namespace glint::gpu::detail
