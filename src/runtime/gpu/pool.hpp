// Device memory of a context: the pool and its limit, deferred frees, and reclaiming under pressure.
// SPDX-License-Identifier: MIT
#pragma once

#include "gpu/stream_state.hpp"

namespace glint::gpu::detail {

/// Allocate `bytes`: allocate_pooled() from the pool in stream order, allocate_outside_pool() managed or other
/// (adopted) memory immediately. Throw OutOfMemory after all fallbacks. Pooled memory may be used in the stream's order
/// only, until the host has synchronised with the stream or another stream has waited for it.
cu::DevicePtr allocate_pooled(StreamState& stream, std::size_t bytes);
cu::DevicePtr allocate_outside_pool(ContextState& home, std::size_t bytes, Kind kind);
void uncount_live(ContextState& home, std::size_t bytes, Kind kind) noexcept;
/// Frees pooled memory in the order of its first user, after the other users; for other kinds the host synchronizes.
/// The free is deferred if a capture forbids it or if it fails.
void free_memory(ContextState& home, DeferredFree due) noexcept;
[[noreturn]] void throw_out_of_memory(ContextState& home, std::size_t bytes);

/// The unit in which the driver's pools allocate from the device, and return to it: 32 MiB on an H200.
constexpr std::uint64_t pool_granule = std::uint64_t(32) << 20;

void retry_deferred_frees(ContextState& home) noexcept;
void trim(ContextState& home);  ///< returns the pool's unused memory to the device
/// Calls the callbacks of Context::on_pressure() and of the process, and returns the bytes that they freed here, in
/// stream order. Call without the mutex, which they may lock.
std::uint64_t call_pressure_callbacks(ContextState& home);
/// Calls the callbacks of the process. Returns whether one of them found anything to free.
bool call_pressure_callbacks();
std::uint64_t reserved_bytes(ContextState& home);  ///< allocated from the device by the pool
std::uint64_t used_bytes(ContextState& home);      ///< the part in use, until the device has executed the frees
std::uint64_t free_on_device(ContextState& home);

/// Call after the host has synchronized: retries deferred frees, and trims the pool under pressure.
void at_synchronization(ContextState& home);
/// Whether a trim may return memory that the last one could not.
bool could_give_back(ContextState& home);
/// Trims the pool if memory is short, or if `wanted` (another request waits for the device). Does nothing if a trim
/// cannot return anything, or if the last trim was a moment ago.
void reclaim_under_pressure(ContextState& home, bool wanted);
/// Context::relieve_pressure().
std::uint64_t relieve_pressure(ContextState& home);

}  // namespace glint::gpu::detail
