// A program's use of CPU and GPU for operations that can run on either: decides, runs, measures, and survives a full GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "glint/backend.hpp"
#include "glint/gpu/lease.hpp"
#include "glint/gpu/stream.hpp"
#include "glint/offload/decision.hpp"
#include "glint/offload/statistics.hpp"

namespace glint::offload {

struct SessionOptions {
    Backend choice = Backend::automatic;  ///< GLINT_BACKEND, where this is automatic
    std::uint64_t gpu_memory_bytes = 0;   ///< to lease beyond the context; 0: 1 GiB, more for a larger first operation
    /// To wait for a lease; Backend::automatic waits no longer than the GPU would save.
    double gpu_timeout_s = std::numeric_limits<double>::infinity();
    std::uint64_t least_bytes = 0;  ///< operations on less stay on the CPU; 0: what was measured says
    bool oom_safe = true;           ///< what a GPU has no memory for is done on the CPU
    int threads = 0;                ///< of the CPU; 0: GLINT_THREADS, or all that it may use
    std::function<void(const std::string&)> log = {};  ///< told of what did not go as it should
};

/// Use one from one thread at a time. The GPU is leased, and a context made, when it is first chosen; both are held
/// until close_gpu() or the end. The context is one of its own (ContextOptions::separate): cuBLAS and cuSOLVER hold a
/// primary one for as long as the process lives.
class Session {
  public:
    explicit Session(const SessionOptions& options = {});
    ~Session();
    Session(Session&&) noexcept;

    /// Which side is done sooner, as things stand. Under 1 us while the GPU is open or there is none.
    Decision decide(const Work& work) const;
    /// As decide(), with flips_at.
    Decision explain(const Work& work) const;

    /// Does it on the side that is chosen, and remembers what it took. What the GPU has no memory for goes to the CPU
    /// (oom_safe); with Backend::automatic what fails there for any other reason goes there too. Each time is recorded
    /// as a Fallback. on_gpu() throws gpu::OutOfMemory or another gpu::GpuError before it has changed an operand.
    /// Returns the side that did it.
    template <class OnCpu, class OnGpu>
    Backend run(const Work& work, const OnCpu& on_cpu, const OnGpu& on_gpu);

    bool gpu_open() const;
    /// Opens it if need be. Throws gpu::NoGpu, gpu::LeaseTimeout, gpu::GpuError.
    const gpu::Context& context();
    const gpu::Stream& stream();
    void close_gpu() noexcept;  ///< gives the lease back; device arrays of this session are gone with it
    void synchronize();
    void clean_up();  ///< gives back what the GPU holds unused: plans, workspaces, the pool's spare memory

    /// After a failure of `operation` on the GPU: cleans up and records it, and tells whether the CPU may do it instead
    /// (a lack of memory: oom_safe(); anything else: unless Backend::gpu).
    bool recover(std::string_view operation, const gpu::GpuError& error);

    /// Keeps what was learned for programs to come; the end of the session does so too. False: it could not be written.
    bool save() const noexcept;
    Backend choice() const;
    void set_choice(Backend choice);  ///< from the next operation on
    int threads() const;
    bool oom_safe() const;
    void set_oom_safe(bool on);
    Statistics statistics() const;
    void reset_statistics();

    /// What a layer above keeps with the session's GPU (library handles, plans): made on first use by `make(context,
    /// stream)`, and gone before the context. T has drop_caches().
    template <class T, class Make>
    T& keep(const Make& make);

  private:
    struct State;
    struct Kept {
        virtual ~Kept() = default;
        virtual void drop_caches() = 0;
    };
    Kept* kept(const void* key) const;
    Kept& keep_as(const void* key, std::unique_ptr<Kept> kept);

    struct Running {
        Decision decision;
        std::chrono::steady_clock::time_point began{};
        OperationStatistics* of = nullptr;
        bool timed = false;
    };
    Running begin(const Work& work);  ///< decides, and opens the GPU if that is the choice
    void end(const Running& running, Backend side);

    std::unique_ptr<State> state_;
};

// ---- Implementation of the templates

template <class OnCpu, class OnGpu>
Backend Session::run(const Work& work, const OnCpu& on_cpu, const OnGpu& on_gpu) {
    const Running running = begin(work);
    if (running.decision.choice == Backend::gpu) try {
            on_gpu();
            end(running, Backend::gpu);
            return Backend::gpu;
        } catch (const gpu::GpuError& error) {
            if (!recover(work.operation->name, error)) throw;
        }
    on_cpu();
    end(running, Backend::cpu);
    return Backend::cpu;
}

template <class T>
inline constexpr char session_key = 0;  ///< its address stands for T

template <class T, class Make>
T& Session::keep(const Make& make) {
    struct Holder : Kept {
        Holder(const Make& how, const gpu::Context& on, const gpu::Stream& in) : value(how(on, in)) {}
        void drop_caches() override { value.drop_caches(); }
        T value;
    };
    Kept* found = kept(&session_key<T>);
    if (!found) {
        const gpu::Context& on = context();
        found = &keep_as(&session_key<T>, std::make_unique<Holder>(make, on, stream()));
    }
    return static_cast<Holder*>(found)->value;
}

}  // namespace glint::offload
