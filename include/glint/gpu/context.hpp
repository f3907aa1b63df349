// A GPU in use: its context and the memory taken on it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "glint/gpu/error.hpp"

namespace glint::gpu {

class Context;

namespace detail {
struct ContextState;
Context non_owning_context(const std::shared_ptr<ContextState>& state);
}  // namespace detail

/// Where memory stands. Bytes are those of the device unless they say otherwise.
struct MemoryStatistics {
    std::uint64_t live_bytes = 0, peak_bytes = 0;  ///< in buffers
    std::uint64_t reserved_bytes = 0;              ///< taken from the device by the pool
    std::uint64_t limit_bytes = 0;                 ///< hard limit of the pool
    std::uint64_t pinned_bytes = 0;                ///< of host memory
    std::uint64_t allocations = 0;
    std::uint64_t event_waits = 0;         ///< uses that had to be ordered behind another stream
    std::uint64_t host_blocks = 0;         ///< times the host waited for the device
    std::uint64_t early_reclaims = 0;      ///< by pressure
    std::uint64_t retries = 0, trims = 0;  ///< of failed allocations; of the pool
};

enum class MemoryKind { pooled, borrowed, adopted, managed };

/// One piece of device memory.
struct MemoryRecord {
    std::uint64_t address = 0, bytes = 0;
    MemoryKind kind = MemoryKind::pooled;  ///< Buffer's own; adopted not owned, and owned; Managed
    bool freed_later = false;  ///< nobody holds it, and it goes when a capture is over or the host has waited
};

struct ContextOptions {
    /// Most that buffers may take, in bytes; 0: all that is free. GLINT_GPU_MEMORY_LIMIT ("4GiB", "25%"), where it is
    /// smaller, holds instead.
    std::uint64_t limit_bytes = 0;
    /// A context of its own, instead of the GPU's primary one, which all libraries of a process share. What other
    /// libraries put into it goes with it: cuBLAS and cuSOLVER hold a primary context until the process ends.
    bool separate = false;
    bool early_reclaim = true;                         ///< GLINT_GPU_EARLY_RECLAIM=0 switches it off too
    std::function<void(const std::string&)> log = {};  ///< told of reclaims, retries and trims; from any thread
};

/// Holds the primary context of one GPU, or a separate one, and one pool of memory capped at a limit. Copies share it; when the last copy
/// is gone, everything is freed, the pool destroyed, and the context released, in that order, so that the process
/// leaves nothing on the GPU. Streams, events, modules and buffers do not hold it: used after it, they throw a
/// GpuError, and Pinned memory becomes ordinary memory. So does what context() of a buffer or stream returns, and a
/// copy of that. Creating one takes 0.2 s and some 500 MiB of the GPU. The caller's current context is never changed.
/// Thread-safe, but for destroying the last copy while others still use what belongs to it. A forked child may not use
/// it.
class Context {
  public:
    /// Throws NoGpu, OutOfMemory, or GpuError; OptionError for a limit that is none; DeviceLost on a GPU that this
    /// process has lost before.
    explicit Context(int ordinal, const ContextOptions& options = {});

    int ordinal() const;
    const std::string& name() const;  ///< of the device
    int multiprocessors() const;
    int shared_bytes_per_block() const;  ///< most that a block may have
    /// Waits for all streams of this Context. Throws what went wrong on them; GpuError, before it waits, where one is
    /// being captured.
    void synchronize() const;
    /// Gives the pool's unused memory back to the device. What was freed in a stream is unused when the device has come
    /// by.
    void trim() const;
    /// Makes the limit smaller, for good; more than it is: no change. What buffers have beyond it they keep.
    void lower_limit(std::uint64_t bytes) const;
    /// Also after the context was released, and on a lost GPU; reserved_bytes is 0 then.
    MemoryStatistics statistics() const;
    /// All memory that buffers hold now, in no order.
    std::vector<MemoryRecord> snapshot() const;
    /// Called, before an allocation fails, to free what the caller can spare; returns the bytes freed. From any thread
    /// that allocates; it stays until the context goes, cannot be removed, and is not asked when it allocates itself.
    /// It must not hold this Context, which would then never go.
    void on_pressure(std::function<std::uint64_t()> callback) const;

    detail::ContextState& state() const { return *state_; }
    const std::shared_ptr<detail::ContextState>& shared_state() const { return state_; }

  private:
    friend Context detail::non_owning_context(const std::shared_ptr<detail::ContextState>& state);
    friend std::vector<Context> open_contexts();
    Context() = default;

    std::shared_ptr<detail::ContextState> state_;
    std::shared_ptr<void> keep_alive_;  // the last one closes the state
};

/// All that this process has open, of whomever; what is returned holds them.
std::vector<Context> open_contexts();

/// Waits for all streams of all contexts of this process. Throws what went wrong on the first that fails.
void synchronize_all();

}  // namespace glint::gpu
