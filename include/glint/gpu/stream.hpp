// Streams, events, and kernels: work on a GPU in order.
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

/// A queue of work on one GPU; what is put in one runs in order. Copies share it. Use one from one thread at a time.
/// When the last copy goes, work in it goes on. Waiting throws what went wrong on the GPU before; on a stream that is
/// being captured into a graph, a GpuError. All throw a GpuError after the context was released, DeviceLost on a lost
/// GPU.
class Stream {
  public:
    explicit Stream(const Context& context);
    /// This thread's own stream on that GPU, made on first use.
    static Stream of_thread(const Context& context);

    const Context& context() const;
    /// The driver's CUstream, for other libraries. It goes with the last copy of this Stream.
    void* native() const;
    void synchronize() const;  ///< the host waits
    bool idle() const;         ///< whether all is done
    detail::StreamState& state() const { return *state_; }
    const std::shared_ptr<detail::StreamState>& shared_state() const { return state_; }

  private:
    std::shared_ptr<detail::StreamState> state_;
};

/// A point in a stream. Errors as a Stream's. One that was never recorded is done.
class Event {
  public:
    explicit Event(const Context& context, bool timing = false);
    void record(const Stream& stream);  ///< of the same GPU
    /// What is put into `stream` from now on runs after this point. Where the point is in a capture, `stream` joins it;
    /// a stream in another capture gets a GpuError, and neither capture is spoilt.
    void wait_on(const Stream& stream) const;
    void synchronize() const;  ///< the host waits
    bool done() const;
    float milliseconds_since(const Event& begin) const;  ///< both with `timing`, both done, else GpuError

  private:
    std::shared_ptr<detail::EventState> state_;
};

/// A kernel, with what the compiler made of it. Holds its module, but not the context.
struct Kernel {
    std::shared_ptr<detail::ModuleState> module;
    void* function = nullptr;
    int registers = 0, local_bytes = 0, shared_bytes = 0;
    std::string name;
};

/// Machine code for the context's GPU. Copies share it.
class Module {
  public:
    /// `fatbin`: as nvcc makes it; must outlive the module. Throws GpuError when it holds no code for this GPU.
    Module(const Context& context, std::span<const unsigned char> fatbin);
    /// `dynamic_shared_bytes`: the most that a launch will ask for.
    Kernel kernel(const std::string& name, int dynamic_shared_bytes = 0) const;

  private:
    std::shared_ptr<detail::ModuleState> state_;
};

/// Puts a kernel into a stream: so many blocks of so many threads, `shared_bytes` of dynamic shared memory for each
/// block; `arguments` point to its parameters, as cuLaunchKernel takes them, and are read before it returns. GpuError
/// where the driver refuses that many, the kernel is another GPU's, or its context was released; OptionError for an
/// empty Kernel. What goes wrong while it runs shows at a later wait.
void launch(const Stream& stream, const Kernel& kernel, unsigned blocks, unsigned threads, unsigned shared_bytes,
            void** arguments);

}  // namespace glint::gpu
