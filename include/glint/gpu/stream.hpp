// Streams, events, modules and kernel launches.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "glint/gpu/context.hpp"

namespace glint::gpu {

namespace detail {
struct StreamState;
struct EventState;
struct ModuleState;
}  // namespace detail

/// A CUDA stream: a queue of work on one GPU that executes in order. Copies share it. Destroying the last copy does not
/// cancel enqueued work. Not thread-safe: use from one thread at a time.
///
/// Waiting throws errors of earlier work, and GpuError on a stream that is being captured into a graph. All members
/// throw GpuError after the context was released, and DeviceLost on a lost GPU.
class Stream {
  public:
    explicit Stream(const Context& context);
    /// Returns the stream of the calling thread on that GPU, created on first use.
    static Stream of_thread(const Context& context);

    const Context& context() const;
    /// Returns the driver's CUstream, for other libraries. Valid as long as a copy of this Stream exists.
    void* native() const;
    void synchronize() const;  ///< blocks the host until all enqueued work is done
    bool idle() const;         ///< whether all enqueued work is done; does not block
    detail::StreamState& state() const { return *state_; }
    const std::shared_ptr<detail::StreamState>& shared_state() const { return state_; }

  private:
    std::shared_ptr<detail::StreamState> state_;
};

/// A CUDA event: a point in a stream. Throws as Stream does. An event that was never recorded counts as done.
class Event {
  public:
    explicit Event(const Context& context, bool timing = false);
    void record(const Stream& stream);  ///< `stream` must be of the same GPU
    /// Work enqueued in `stream` from now on executes after this point. If the event was recorded in a capture,
    /// `stream` joins that capture. Throws GpuError, without invalidating a capture, if `stream` is in another capture.
    void wait_on(const Stream& stream) const;
    void synchronize() const;                            ///< blocks the host until the point is reached
    bool done() const;                                   ///< whether the point is reached; does not block
    float milliseconds_since(const Event& begin) const;  ///< both with `timing` and both done, else GpuError

  private:
    std::shared_ptr<detail::EventState> state_;
};

/// A kernel and its resource usage. Keeps its module alive, but not the context.
struct Kernel {
    std::shared_ptr<detail::ModuleState> module;
    void* function = nullptr;                              ///< CUfunction
    int registers = 0, local_bytes = 0, shared_bytes = 0;  ///< per thread, per thread, static per block
    std::string name;
};

/// Machine code loaded into a context. Copies share it.
class Module {
  public:
    /// `fatbin`: output of nvcc, not owned; must outlive the module. Throws GpuError if it has no code for this GPU.
    Module(const Context& context, std::span<const unsigned char> fatbin);
    /// Returns a kernel. `dynamic_shared_bytes`: the maximum of dynamic shared memory of any launch. Throws GpuError
    /// for an unknown name.
    Kernel kernel(const std::string& name, int dynamic_shared_bytes = 0) const;

  private:
    std::shared_ptr<detail::ModuleState> state_;
};

/// Enqueues a kernel with a one-dimensional grid of `blocks` blocks of `threads` threads and `shared_bytes` of dynamic
/// shared memory per block. `arguments` point to the parameters, as for cuLaunchKernel, and are read before the call
/// returns. Asynchronous: a later wait throws errors of the kernel itself.
///
/// Throws GpuError if the driver refuses the configuration, the kernel belongs to another GPU, or its context was
/// released. Throws OptionError for an empty Kernel.
void launch(const Stream& stream, const Kernel& kernel, unsigned blocks, unsigned threads, unsigned shared_bytes,
            void** arguments);

}  // namespace glint::gpu
