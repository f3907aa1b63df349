// Memory from a context's pool under its limit, and what is tried before an allocation fails.
// SPDX-License-Identifier: MIT
#pragma once

#include "gpu/stream_state.hpp"

namespace glint::gpu::detail {

/// Counts `bytes` as live if the limit allows it.
bool count_live(ContextState& home, std::size_t bytes) noexcept;
void uncount_live(ContextState& home, std::size_t bytes) noexcept;

/// In stream order. Throws OutOfMemory after all else was tried.
cu::DevicePtr take(StreamState& stream, std::size_t bytes);
/// Frees in the order of the first user, behind the others; parks it where capture forbids that.
void give_back(ContextState& home, ParkedFree due) noexcept;
[[noreturn]] void throw_out_of_memory(ContextState& home, std::size_t bytes, const char* advice);

void drain_parked(ContextState& home) noexcept;
void trim(ContextState& home);
std::uint64_t reserved_bytes(ContextState& home);
std::uint64_t free_on_device(ContextState& home);

/// The host has waited: parked frees are tried again, and under pressure the pool's unused memory goes back early.
void at_synchronization(ContextState& home);

}  // namespace glint::gpu::detail
