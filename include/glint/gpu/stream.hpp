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
class Stream {
  public:
    explicit Stream(const Context& context);
    /// This thread's own stream on that GPU, made on first use.
    static Stream of_thread(const Context& context);

    const Context& context() const;
    void synchronize() const;  ///< waits, and throws what went wrong
    bool idle() const;
    detail::StreamState& state() const { return *state_; }
    const std::shared_ptr<detail::StreamState>& shared_state() const { return state_; }

  private:
    std::shared_ptr<detail::StreamState> state_;
};

/// A point in a stream.
class Event {
  public:
    explicit Event(const Context& context, bool timing = false);
    void record(const Stream& stream);
    void wait_on(const Stream& stream) const;  ///< what is put into `stream` from now on runs after this point
    void synchronize() const;                  ///< the host waits
    bool done() const;
    float milliseconds_since(const Event& begin) const;  ///< both with `timing`, both done

  private:
    std::shared_ptr<detail::EventState> state_;
};

/// A kernel, with what the compiler made of it.
struct Kernel {
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

/// Puts a kernel into a stream; `arguments` point to its parameters, as cuLaunchKernel takes them.
void launch(const Stream& stream, const Kernel& kernel, unsigned blocks, unsigned threads, unsigned shared_bytes,
            void** arguments);

}  // namespace glint::gpu
