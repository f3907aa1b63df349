// A session runs operations on the CPU or a GPU: it decides per operation, measures, and falls back when the GPU fails.
//
//     glint::offload::Session session({.gpu_timeout_s = 10});
//     static constexpr glint::offload::Operation scale{"scale", "elements", 1, 1, 0};
//     const glint::offload::Work work{.operation = &scale, .size = 1e6, .flops = 1e6, .bytes = 8e6};
//     const glint::Backend used = session.run(work, [&] { scale_on_cpu(); }, [&] { scale_on_gpu(session.stream()); });
//     std::printf("on %s: %s\n", glint::to_name(used), session.explain(work).reason().c_str());
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "glint/backend.hpp"
#include "glint/gpu/lease.hpp"
#include "glint/gpu/stream.hpp"
#include "glint/offload/decision.hpp"
#include "glint/offload/statistics.hpp"

namespace glint::offload {

/// Options of a Session.
struct SessionOptions {
    /// automatic: GLINT_BACKEND if set, else decided per operation. gpu: a GPU or an error, gpu::NoGpu if none can be
    /// used. prefer_gpu: the GPU, if one can be used within gpu_timeout_s, or 300 s if that is infinite.
    Backend choice = Backend::automatic;
    /// Bytes to lease, without the context; 0: 1 GiB, or more if the first operation needs more.
    std::uint64_t gpu_memory_bytes = 0;
    /// The GPU to use, by CUDA's number in this process; -1: the GPU with the fewest leases. If there is no GPU with
    /// that number, opening it throws gpu::NoGpu, and Backend::automatic uses the CPU.
    int device = -1;
    /// Create arrays of unified memory (glint/gpu/managed.hpp), which the host can also read. nullopt:
    /// unified_by_default().
    std::optional<bool> unified = std::nullopt;
    /// Maximum wait for a lease, in seconds; Backend::automatic waits no longer than the GPU is expected to save.
    double gpu_timeout_s = std::numeric_limits<double>::infinity();
    /// Operations with fewer bytes of operands run on the CPU, unless an operand is on the GPU or `choice` is
    /// Backend::gpu. For operations without operands, the bytes of the result count. 0: no limit.
    std::uint64_t min_bytes = 0;
    bool oom_safe = true;  ///< fall back to the CPU when GPU memory runs out; see also set_process_oom_safe()
    int threads = 0;       ///< CPU threads; 0: GLINT_THREADS, or all that this process may use
    std::function<void(const std::string&)> log = {};  ///< receives problems, as sentences
    /// Receives the reason and the remedy when the CPU replaces a GPU that failed or was not free within gpu_timeout_s.
    /// Called once per session and reason.
    std::function<void(const std::string&)> warn = {};
    /// As LeaseRequest::on_wait: called about twice a second while the session waits for a GPU. If the callback throws,
    /// the wait ends, and the waiting operation throws the same exception.
    std::function<void(double elapsed_s, std::uint64_t available_bytes, std::uint64_t required_bytes)> on_wait = {};
    /// Called once a second, in another thread, while another process waits for the GPU that the session holds
    /// (gpu::Lease::on_wanted). It may call make_way() if it can ensure that no thread uses the session at that time.
    std::function<void()> on_wanted = {};
    /// Frees memory on the GPU that the program no longer needs, and returns the bytes freed. The thread that uses the
    /// session calls it before an allocation fails, and between operations while memory is short
    /// (gpu::Context::relieve_pressure). It may use the session.
    std::function<std::uint64_t()> on_pressure = {};
};

/// Runs operations on the CPU or a GPU. Leases a GPU and creates a context when the GPU is first chosen, and holds both
/// until close_gpu() or destruction. The context is a separate one (ContextOptions::separate), because cuBLAS and
/// cuSOLVER keep a primary context alive until the process ends. Movable. Not thread-safe: use from one thread at a
/// time.
class Session {
  public:
    /// Throws OptionError for an invalid option.
    explicit Session(const SessionOptions& options = {});
    ~Session();
    Session(Session&&) noexcept;

    /// Returns which side is expected to be faster now. Takes less than 1 us while the GPU is open or none exists.
    Decision decide(const Work& work) const;
    /// Returns the result of decide() with Decision::flips_at.
    Decision explain(const Work& work) const;

    /// Runs the operation on the chosen side and measures it. Falls back to the CPU if GPU memory runs out (oom_safe)
    /// and, with Backend::automatic, after any other gpu::GpuError. Records each Fallback. If on_gpu() throws, it must
    /// not have modified an operand.
    ///
    /// Returns the side that completed. Throws as on_cpu(), and errors of the GPU for which there is no fallback.
    template <class OnCpu, class OnGpu>
    Backend run(const Work& work, const OnCpu& on_cpu, const OnGpu& on_gpu);

    /// The parts of run(), for callers that release the session while on_cpu() or on_gpu() runs. begin() decides, and
    /// opens the GPU if it is chosen. end() records the time of the work done on `side`, until `ended` (default: now).
    using Time = std::chrono::steady_clock::time_point;
    struct Running {
        Decision decision;
        Time began{};
        bool timed = false;
    };
    Running begin(const Work& work);
    void end(const Running& running, Backend side, Time ended = {});

    bool gpu_open() const;
    /// Return the context and the stream. Open the GPU if necessary. Throw gpu::NoGpu, gpu::LeaseTimeout and other
    /// gpu::GpuError.
    const gpu::Context& context();
    const gpu::Stream& stream();
    void close_gpu() noexcept;  ///< releases context and lease; frees the device arrays of this session
    /// Releases the GPU for other processes if no buffer lives on it and no operation has run for a second. Also
    /// releases it if
    /// - the GPU was open for a quantum (environment::gpu_quantum_s()),
    /// - it was used for less than half of that time, and
    /// - the session may wait for it again without limit, or use the CPU.
    ///
    /// The next operation acquires a new lease.
    void make_way() noexcept;
    void synchronize();  ///< blocks until the session's stream is idle
    void clean_up();     ///< frees unused GPU memory: plans, workspaces, free memory of the pool

    /// Counts a failure of `operation` on the GPU, and cleans up. Returns whether another attempt, or the CPU, is
    /// allowed: for OutOfMemory if oom_safe() and process_oom_safe(), for other errors unless the choice is
    /// Backend::gpu.
    bool recover(std::string_view operation, const gpu::GpuError& error);
    /// Records a Fallback to the CPU. Reports it to SessionOptions::warn.
    void fall_back(std::string_view operation, const gpu::GpuError& error);

    /// Writes the measurements to the user's cache, as the destructor does. Returns false if writing failed.
    bool save() const noexcept;
    Backend choice() const;
    void set_choice(Backend choice);  ///< takes effect with the next operation
    int threads() const;
    bool oom_safe() const;
    void set_oom_safe(bool on);
    int device() const;         ///< SessionOptions::device
    bool unified() const;       ///< whether the next array is in unified memory
    void set_unified(bool on);  ///< for arrays created from now on
    /// Counts a copy of an array over the link that is not part of an operation.
    void note_copy(std::uint64_t bytes_up, std::uint64_t bytes_down);
    Statistics statistics() const;
    void reset_statistics();

    /// Returns an object of a higher layer that lives with the session's GPU (library handles, plans), one per type T.
    /// The session owns it: it is created on first use by `make(context, stream)`, and destroyed before the context. T
    /// must have drop_caches().
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

    std::unique_ptr<State> state_;
};

/// Sets whether the CPU may replace a GPU without enough memory, in the whole process: in all sessions (in addition to
/// their own oom_safe()), and in fits and movies with Backend::automatic. If off, they throw gpu::OutOfMemory, after
/// trying smaller batches and pieces. Initially on. Thread-safe; work in progress may see a change late.
void set_process_oom_safe(bool on);
/// Returns the value of set_process_oom_safe().
bool process_oom_safe();

/// Sets whether sessions with SessionOptions::unified = nullopt create arrays of unified memory, from the next array
/// on. Thread-safe.
void set_unified_by_default(bool on);
/// Returns the value of set_unified_by_default(), else of GLINT_GPU_UNIFIED. Throws OptionError if the variable is
/// invalid.
bool unified_by_default();

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
            fall_back(work.operation->name, error);
        }
    on_cpu();
    end(running, Backend::cpu);
    return Backend::cpu;
}

template <class T>
inline constexpr char session_key = 0;  ///< its address identifies T

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
