// A share of one or several GPUs of a server that others use too: asked for, waited for, held, given back.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "glint/gpu/context.hpp"
#include "glint/gpu/device.hpp"
#include "glint/progress.hpp"

namespace glint::gpu {

namespace lease {
struct LeaseState;
}

/// No GPU had room within the time allowed. `what()` says what was needed, what was free, and who held it.
class LeaseTimeout : public GpuError {
  public:
    LeaseTimeout(const std::string& message, std::uint64_t required, std::uint64_t available)
        : GpuError(909, message), required_bytes(required), available_bytes(available) {}  // CUDA_ERROR_TIMEOUT
    /// On each GPU with its context; free on the GPU that had the most.
    const std::uint64_t required_bytes, available_bytes;
};

struct LeaseRequest {
    std::uint64_t bytes = std::uint64_t(1) << 30;                ///< on each GPU, beyond the context
    int gpus = 1;                                                ///< different ones, all at once
    double timeout_s = std::numeric_limits<double>::infinity();  ///< 0: now or not at all
    std::vector<std::string> avoid = {};                         ///< UUIDs of GPUs that will not do
    /// Told about twice a second while waiting, once a second far behind: seconds since the call, bytes free where the
    /// most are, bytes required there with the context. From the calling thread.
    std::function<void(double elapsed_s, std::uint64_t available_bytes, std::uint64_t required_bytes)> on_wait = {};
    bool for_child = false;                            ///< for a program to be started: any MIG instance will do
    const StopFlag* stop = nullptr;                    ///< set: Cancelled is thrown within a second
    std::function<void(const std::string&)> log = {};  ///< told why it waits, and of what is out of order; same thread
};

struct LeasedDevice {
    int ordinal = -1;  ///< for Context; CUDA's number in this process
    std::string uuid;  ///< for CUDA_VISIBLE_DEVICES of another program
    std::string name;
    std::uint64_t context_bytes = 0;  ///< what the lease has beyond bytes(), for the context
};

/// The right to use bytes() and one context on each of devices(). Others that ask through glint keep off it, for as
/// long as this object or, after keep_for_child(), a process with its descriptor lives; however these end. Nothing
/// enforces it: give the context bytes() as its limit, or use create_context(). Destroy what lives on the GPUs before
/// the lease. A forked child keeps the lease alive until it ends or executes another program, and cannot change or give
/// it back. Movable; thread-safe but for moving and destroying.
///
///     const glint::gpu::Lease lease = glint::gpu::acquire({.bytes = 4ull << 30, .timeout_s = 60});
///     const glint::gpu::Context context = lease.create_context();
class Lease {
  public:
    explicit Lease(std::unique_ptr<lease::LeaseState> state);  ///< by acquire()
    Lease(Lease&&) noexcept;
    Lease& operator=(Lease&&) noexcept;
    ~Lease();

    const std::vector<LeasedDevice>& devices() const;
    std::uint64_t bytes() const;  ///< on each device, beyond the context
    double waited_s() const;
    /// Whether others see this lease; false without a directory for leases, when NVML alone says what is free.
    bool visible() const;

    /// The device's context, with bytes() as its limit where `options` has none. One at a time on each GPU: waits for
    /// others, for a bounded time (a stopped process may be the one), and tells them that the context is there. Throws
    /// what Context does: losing to a stranger is possible, then give the lease back and ask again.
    Context create_context(std::size_t device = 0, ContextOptions options = {}) const;

    /// Keeps others from creating a context on the device while it lives; for programs that create one by other means.
    using CreationLock = std::shared_ptr<void>;
    CreationLock lock_context_creation(std::size_t device = 0) const;

    /// Tells others how much of the lease is already taken from the GPU, beyond the context, which must be there. To be
    /// called after allocating and before freeing; others then do not count it twice. create_context() tells of the
    /// context.
    void publish_held(std::uint64_t bytes, std::size_t device = 0) const;
    /// Makes the lease smaller, for good: `bytes` beyond the context on each device. More than it has: no change.
    void shrink(std::uint64_t bytes);
    /// Whether somebody waits who could use one of these devices: a good time to trim pools and to shrink. Looks at
    /// most ten times a second, 0.2 ms each, and answers from memory in between.
    bool others_wait() const;

    /// For a program that runs under this lease (a PyTorch script, another fitter), before it is started: a descriptor
    /// that survives exec. While any process has it the lease lives, and this object no longer gives it back. -1 where
    /// others do not see the lease, or this process runs under one itself. The descriptor stays this object's: do not
    /// close it.
    int keep_for_child();
    /// The variables with which it keeps to the lease: CUDA_VISIBLE_DEVICES, GLINT_GPU_MEMORY_LIMIT, and GLINT_LEASE,
    /// by which acquire() there gives part of this lease.
    std::vector<std::pair<std::string, std::string>> child_environment() const;
    /// publish_held() for it and its children, by what NVML shows of them. To be called about once a second while it
    /// runs.
    void publish_held_by_child(int pid) const;

  private:
    std::unique_ptr<lease::LeaseState> state_;
};

/// Waits in the queue of all who share the machine's GPUs, and takes the GPUs with the most room. First come, first
/// served; whoever needs less may pass one that cannot run yet, and get in its way a bounded number of times. Takes 1
/// ms where a GPU is free. Where the directory for leases (GLINT_LEASE_DIR, /dev/shm/glint-lease) cannot be used, the
/// request's log is told, and NVML alone is asked. GLINT_LEASES_PER_USER bounds how many shares of GPUs a user's leases
/// have at once. In a program that runs under a lease (GLINT_LEASE) it gives part of that one at once: the same GPUs,
/// and no more bytes() than it has. Throws NoGpu; OutOfMemory for more than a GPU has; LeaseTimeout; Cancelled;
/// OptionError.
Lease acquire(const LeaseRequest& request = {});

// ---- Who shares what

struct LeaseHolder {
    std::uint32_t uid = 0, pid = 0;  ///< pid as the holder knows it: in a container it is another
    std::uint64_t reserved_bytes = 0, held_bytes = 0;
    int contexts = 0;    ///< processes with a context; 0: it has not begun
    double since_s = 0;  ///< seconds
    /// By a signal or a debugger, as far as /proc shows: it keeps its lease until it goes on or ends.
    bool stopped = false;
};

struct LeaseGpu {
    std::string uuid, name;
    std::uint64_t total_bytes = 0, free_bytes = 0;  ///< free: now
    std::uint64_t available_bytes = 0;              ///< free once all holders have what they reserved
    int utilization_percent = -1;                   ///< -1: unknown
    int processes = 0;                              ///< with a context, as far as NVML shows them
    int foreign_count = 0;                          ///< processes beyond those of holders
    /// Who these may be: those that are not known to descend from a holder.
    std::vector<DeviceProcess> foreign_processes = {};
    std::vector<LeaseHolder> holders = {};
};

struct LeaseWaiter {
    std::uint32_t uid = 0, pid = 0;
    std::uint64_t bytes = 0;  ///< on each GPU, beyond the context
    int gpus = 0;
    std::vector<std::string> candidates;  ///< UUIDs of those that it can use
    double since_s = 0;
    int passes = 0;      ///< who came later and began earlier
    bool awake = false;  ///< false: no sign of life (stopped?), it is passed over
};

struct LeaseSnapshot {
    std::string directory, why_no_directory, why_no_gpu;
    std::vector<LeaseGpu> gpus;
    std::vector<LeaseWaiter> waiters;  ///< in order
};

/// What everybody has and wants now. Takes part in nothing. Never throws for lack of a GPU.
LeaseSnapshot snapshot_leases();

}  // namespace glint::gpu
