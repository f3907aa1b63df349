// The context of one GPU, its memory pool under a limit, and statistics of both.
//
//     const glint::gpu::Context context(0, {.limit_bytes = 4ull << 30});
//     const glint::gpu::Stream stream(context);
//     glint::gpu::Buffer<float> pixels(stream, 1 << 20);
//     glint::gpu::fill(stream, pixels, 0);
//     context.synchronize();
//     std::printf("%llu bytes live\n", (unsigned long long)context.statistics().live_bytes);
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
/// Returns a copy that does not keep the context alive.
Context non_owning_context(const std::shared_ptr<ContextState>& state);
}  // namespace detail

/// Memory of the device, unless stated otherwise, and counters since the context was created.
struct MemoryStatistics {
    std::uint64_t live_bytes = 0, peak_bytes = 0;  ///< in buffers: now, and the maximum
    std::uint64_t reserved_bytes = 0;              ///< allocated from the device by the pool
    std::uint64_t limit_bytes = 0;                 ///< hard limit of the pool
    std::uint64_t pinned_bytes = 0;                ///< page-locked host memory
    std::uint64_t allocations = 0;
    std::uint64_t event_waits = 0;            ///< uses that had to wait for another stream
    std::uint64_t host_blocks = 0;            ///< times that the host waited for the device
    std::uint64_t early_reclaims = 0;         ///< trims because memory was short, before an allocation failed
    std::uint64_t early_reclaimed_bytes = 0;  ///< returned to the device by early reclaims
    std::uint64_t retries = 0;                ///< of failed allocations
    std::uint64_t trims = 0;                  ///< of the pool
};

/// The origin of memory.
/// - `pooled`: allocated from the context's pool
/// - `borrowed`, `adopted`: allocated by another library, not owned or owned (Buffer::adopt). Memory for other
///   processes (ExportedMemory) also counts as adopted
/// - `managed`: unified memory
enum class MemoryKind { pooled, borrowed, adopted, managed };

/// One allocation in device memory.
struct MemoryRecord {
    std::uint64_t address = 0, bytes = 0;
    MemoryKind kind = MemoryKind::pooled;
    bool freed_later = false;  ///< no longer referenced; freed when a graph capture has ended
};

/// Options of Context.
struct ContextOptions {
    /// Maximum of the memory in buffers; 0: all memory that is free now. The smaller of this limit and
    /// GLINT_GPU_MEMORY_LIMIT ("4GiB", "25%") applies.
    std::uint64_t limit_bytes = 0;
    /// Create a separate context instead of retaining the primary context, which all libraries of the process share.
    /// Objects that other libraries create in it are destroyed with it; cuBLAS and cuSOLVER would keep a primary
    /// context alive until the process ends.
    bool separate = false;
    /// Return unused memory before an allocation fails: while the limit or the device is nearly used up, or while
    /// another request waits for the device. GLINT_GPU_EARLY_RECLAIM=0 and set_early_reclaim(false) disable it too.
    bool early_reclaim = true;
    std::function<void(const std::string&)> log = {};  ///< receives reclaims, retries and trims; from any thread
};

/// The primary context of one GPU, or a separate one, with a memory pool under a limit.
///
/// Ownership: copies share it. The last copy frees all memory, destroys the pool and releases the context, in this
/// order, so that the process leaves nothing on the GPU. Streams, events, modules and buffers do not own the context,
/// and neither do the copies that their context() returns. After the release of the context, these objects throw
/// GpuError when used, and Pinned memory becomes ordinary memory.
///
/// Creating a context takes 0.2 s and about 500 MiB of the GPU's memory. No member changes the calling thread's current
/// context. Thread-safe, except for destroying the last copy while other threads use its objects. Not usable in a
/// forked child.
class Context {
  public:
    /// Retains or creates the context on the GPU with CUDA's number `ordinal`. Throws NoGpu, OutOfMemory or GpuError;
    /// OptionError for an invalid limit; DeviceLost on a GPU that this process has lost before.
    explicit Context(int ordinal, const ContextOptions& options = {});

    int ordinal() const;
    const std::string& name() const;  ///< of the device
    int multiprocessors() const;
    int shared_bytes_per_block() const;  ///< maximum of shared memory, with opt-in
    /// Blocks until all streams of this Context are idle. Throws errors of earlier work on them; GpuError, before it
    /// waits, if one is being captured.
    void synchronize() const;
    /// Returns unused memory of the pool to the device. Memory freed in stream order becomes unused when the device has
    /// executed the free.
    void trim() const;
    /// Reduces the limit permanently; no effect if `bytes` is not smaller. Existing buffers stay, even beyond it.
    void lower_limit(std::uint64_t bytes) const;
    /// Returns the statistics. After the release of the context and on a lost GPU, reserved_bytes is 0.
    MemoryStatistics statistics() const;
    /// Returns all allocations of buffers now, in no particular order.
    std::vector<MemoryRecord> snapshot() const;
    /// Registers a callback that frees memory before an allocation fails, and returns the number of bytes freed. It is
    /// called in any thread that allocates or calls relieve_pressure(), but not recursively. It cannot be removed, and
    /// must not own a copy of this Context, which would then never be released.
    void on_pressure(std::function<std::uint64_t()> callback) const;
    /// Calls the callbacks of on_pressure() before an allocation fails, if memory was short at the last
    /// synchronization. They run at most once per second and for at most 2% of the time, and less often while they free
    /// nothing. Programs call it between operations, while they hold no lock that a callback needs.
    ///
    /// Returns the bytes freed, in stream order: the next synchronization returns them to the device.
    std::uint64_t relieve_pressure() const;

    detail::ContextState& state() const { return *state_; }
    const std::shared_ptr<detail::ContextState>& shared_state() const { return state_; }

  private:
    friend Context detail::non_owning_context(const std::shared_ptr<detail::ContextState>& state);
    friend std::vector<Context> open_contexts();
    Context() = default;

    std::shared_ptr<detail::ContextState> state_;
    std::shared_ptr<void> keep_alive_;  // null in non-owning copies; the last one closes the state
};

/// Sets a function that receives the log lines (ContextOptions::log) of all contexts of this process: one line per
/// reclaim, with the bytes freed and the time it took. An empty function disables the log. If set_log() was not called,
/// GLINT_GPU_LOG determines whether lines go to standard error.
///
/// The function is called from any thread, including the heartbeat's, one call at a time. It must neither use a Context
/// nor wait for other threads. Thread-safe.
void set_log(std::function<void(const std::string&)> log);

/// Switches early reclaim on or off for all contexts of this process, present and future; overrides
/// GLINT_GPU_EARLY_RECLAIM. Contexts created with ContextOptions::early_reclaim false stay without it. Thread-safe.
void set_early_reclaim(bool on);
/// Returns the value of set_early_reclaim(), else of GLINT_GPU_EARLY_RECLAIM. Throws OptionError if the variable is
/// invalid.
bool early_reclaim();

/// Returns all open contexts of this process, including those of other libraries that use glint. The copies keep them
/// alive.
std::vector<Context> open_contexts();

/// Registers a callback for the whole process. It frees objects that the program no longer uses, but that a garbage
/// collector has not freed yet, and returns whether it found any. It cannot be removed, and must not throw.
///
/// It is called without a lock of this library, after the callbacks of a Context, and in any thread whose acquire() is
/// about to wait or to fail. It is not called recursively, or by the thread of the heartbeat.
void on_pressure(std::function<bool()> callback);

/// Calls Context::synchronize() for all contexts of this process. Throws the first error.
void synchronize_all();

}  // namespace glint::gpu
