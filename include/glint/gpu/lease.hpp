// Leases: a share of the memory of one or several GPUs on a server that other users share.
//
// Leases are cooperative: nothing enforces a lease on the device. Processes that use glint coordinate through a
// directory (gpu-sharing.md). Other processes are called foreign processes here; they are visible through NVML only.
//
//     const glint::gpu::Lease lease = glint::gpu::acquire({.bytes = 4ull << 30, .timeout_s = 60});
//     {
//         const glint::gpu::Context context = lease.create_context();  // with lease.bytes() as its limit
//         const glint::gpu::Stream stream(context);
//         glint::gpu::Buffer<float> pixels(stream, 1 << 20);
//         stream.synchronize();
//     }  // all objects on the GPU end before the lease
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

/// No GPU had enough memory available within the timeout, or the context creation lock of a GPU did not become free.
/// `what()` contains the bytes required and available with the leases that held the rest, or the process that holds
/// the lock.
class LeaseTimeout : public GpuError {
  public:
    LeaseTimeout(const std::string& message, std::uint64_t required, std::uint64_t available)
        : GpuError(909, message), required_bytes(required), available_bytes(available) {}  // CUDA_ERROR_TIMEOUT
    /// Bytes required on each GPU, with the context; bytes available on the GPU with the most available memory.
    const std::uint64_t required_bytes, available_bytes;
};

/// A request for a lease. The callbacks run in the thread that calls acquire().
struct LeaseRequest {
    std::uint64_t bytes = std::uint64_t(1) << 30;                ///< on each GPU, in addition to the context
    int gpus = 1;                                                ///< number of different GPUs, leased together
    double timeout_s = std::numeric_limits<double>::infinity();  ///< 0: throw immediately instead of waiting
    double expected_s = 0;                ///< expected duration of the lease, so that longer fits give way; 0: unknown
    std::vector<std::string> avoid = {};  ///< UUIDs of GPUs not to use
    /// Called while waiting, about every 0.5 s, or every 1 s far from the head of the queue. Receives the seconds since
    /// the call, the bytes available on the GPU with the most available memory, and the bytes required there with the
    /// context. Both amounts are equal while acquire() waits only for the context creation lock.
    std::function<void(double elapsed_s, std::uint64_t available_bytes, std::uint64_t required_bytes)> on_wait = {};
    bool for_child = false;        ///< for a child program: MIG instances invisible here count too
    bool relieve_pressure = true;  ///< call the process's on_pressure() callbacks, once, before waiting or failing
    /// A context is created immediately afterwards: acquire() also waits for the context creation lock of the first
    /// GPU. The lease holds it until create_context(), or until the lease ends.
    bool for_context = false;
    const StopFlag* stop = nullptr;                    ///< polled: when set, acquire() throws Cancelled within 1 s
    std::function<void(const std::string&)> log = {};  ///< receives the reason for the wait, and problems found
};

/// One GPU, or MIG instance, of a lease.
struct LeasedDevice {
    int ordinal = -1;  ///< CUDA's number in this process, for Context
    std::string uuid;  ///< for CUDA_VISIBLE_DEVICES of a child program
    std::string name;
    std::uint64_t context_bytes = 0;  ///< reserved for the context, in addition to Lease::bytes()
};

/// The right to use bytes() and one context on each of devices(). Other processes that use glint leave that memory free
/// as long as this object lives, or as long as a child process has its descriptor (keep_for_child()). The lease ends
/// with the process, even if the process is killed.
///
/// Use create_context(), or pass bytes() to the context as its limit. Destroy all objects on the GPUs before the lease.
/// A forked child keeps the lease alive until it exits or calls exec, but cannot change or release it. Movable.
/// Thread-safe, except for moving and destroying.
class Lease {
  public:
    explicit Lease(std::unique_ptr<lease::LeaseState> state);  ///< by acquire()
    Lease(Lease&&) noexcept;
    Lease& operator=(Lease&&) noexcept;
    ~Lease();

    const std::vector<LeasedDevice>& devices() const;
    std::uint64_t bytes() const;  ///< on each device, beyond the context
    double waited_s() const;      ///< time spent in acquire()
    /// Returns whether other processes see this lease. False without a usable directory; acquire() then relied on NVML
    /// alone.
    bool visible() const;

    /// Creates the device's context, and publishes that it exists. The limit is bytes() unless `options` sets one.
    /// Waits for the context creation lock of the GPU as lock_context_creation(), unless acquire() has done so
    /// (LeaseRequest::for_context).
    ///
    /// Returns the context. Throws as Context. If a foreign process has allocated the memory in the meantime, release
    /// the lease and acquire another.
    Context create_context(std::size_t device = 0, ContextOptions options = {}) const;

    /// Acquires the context creation lock of a GPU, because contexts created at the same time slow each other down. For
    /// programs that create a context by other means than create_context(). Waits as long as `request` allows; uses
    /// only its timeout_s, stop, on_wait and log.
    ///
    /// Returns the lock, which is held until its last copy is destroyed. Returns null, without an error, if waiting
    /// longer would not help:
    /// - after 5 s in which the same process held the lock,
    /// - after 30 s in total, or
    /// - immediately, as long as no other lease is on the GPU.
    ///
    /// Throws LeaseTimeout, and Cancelled after a stop.
    using CreationLock = std::shared_ptr<void>;
    CreationLock lock_context_creation(std::size_t device = 0, const LeaseRequest& request = {}) const;

    /// Publishes how many bytes of the lease are allocated by other means than contexts of create_context(). The
    /// context of these bytes must exist and is not counted. Call it after allocating and before freeing. Other
    /// processes subtract the bytes from the reservation, because NVML already reports them as used.
    void publish_held(std::uint64_t bytes, std::size_t device = 0) const;
    /// Publishes the bytes that the contexts of create_context() hold now. The heartbeat also does so once a second;
    /// contexts do so before they return memory to the GPU.
    void publish_held() const;
    /// Reduces the lease permanently to `bytes` on each device, not counting the context. No effect if `bytes` is not
    /// less than bytes().
    void shrink(std::uint64_t bytes);
    /// Returns whether another request waits for one of these devices: a good time to trim pools and to shrink().
    /// Checks at most ten times a second (10 us), for all leases of the process, and returns the cached answer in
    /// between.
    bool others_wait() const;
    /// Sets a callback that releases idle resources while another request waits for one of these devices. The thread of
    /// the heartbeat calls it once a second, after it has returned unused memory of the contexts of create_context().
    /// `shortest_s`: the minimum of LeaseRequest::expected_s of the waiting requests; infinity if no request has one.
    /// `callback` may destroy this lease; destroying it elsewhere waits for a running call.
    void on_wanted(std::function<void(double shortest_s)> callback);

    /// Prepares the start of a child program that runs under this lease (a PyTorch script, another fitter). Afterwards
    /// this object no longer releases the lease: it lives as long as any process has the returned descriptor open.
    ///
    /// Returns a descriptor that survives exec. The lease owns it: do not close it. Returns -1 if other processes do
    /// not see the lease, or if it is part of an inherited one.
    int keep_for_child();
    /// Returns the pids of other processes with that descriptor, as far as this user may see them. These processes keep
    /// the lease when this process ends.
    std::vector<unsigned> kept_by() const;
    /// Returns environment variables for the child program: CUDA_VISIBLE_DEVICES, GLINT_GPU_MEMORY_LIMIT, and
    /// GLINT_LEASE, with which acquire() in the child returns a part of this lease.
    std::vector<std::pair<std::string, std::string>> child_environment() const;
    /// Publishes the bytes that the child program and its descendants hold, as NVML reports them. Call it about once a
    /// second while the program runs.
    void publish_held_by_child(int pid) const;

  private:
    friend Lease acquire(const LeaseRequest& request);
    void start_heartbeat();

    std::unique_ptr<lease::LeaseState> state_;
};

/// Waits in the queue of this machine and leases the GPUs with the most memory available. First come, first served,
/// with backfill: a smaller request may overtake a request that cannot run yet, but only a bounded number of times.
/// Takes 1 ms if a GPU is free.
///
/// If the directory (GLINT_LEASE_DIR, by default /dev/shm/glint-lease) cannot be used, reports this to
/// LeaseRequest::log and relies on NVML alone. GLINT_LEASES_PER_USER limits the GPU shares that the leases of one user
/// have simultaneously. GLINT_GPU_MEMORY_LIMIT limits the bytes. A reservation whose user has had no process on the GPU
/// for 60 s does not count while other requests wait.
///
/// In a program that runs under a lease (GLINT_LEASE), returns a part of that lease: some of its GPUs, and at most its
/// bytes(). Waits until the parts of other processes leave enough of that lease.
///
/// Returns the lease. Throws
/// - NoGpu if no GPU can be used
/// - OutOfMemory for more bytes than a GPU has
/// - LeaseTimeout after LeaseRequest::timeout_s
/// - Cancelled after a stop
/// - OptionError for an invalid request
Lease acquire(const LeaseRequest& request = {});

// ---- Snapshot of all leases, for display and monitoring

/// A process that holds a lease on a GPU.
struct LeaseHolder {
    std::uint32_t uid = 0, pid = 0;  ///< pid in the holder's own pid namespace (it differs in a container)
    std::uint64_t reserved_bytes = 0, held_bytes = 0;  ///< leased; allocated part of it. Both include the context
    int contexts = 0;                                  ///< processes with a context under the lease; 0: none yet
    double since_s = 0;                                ///< age of the lease in seconds
    /// Stopped by a signal or a debugger, as far as /proc shows. The lease stays until the process resumes or ends.
    bool stopped = false;
    bool elsewhere = false;  ///< in another pid namespace (a container): pid is not valid in this namespace
    bool ended = false;      ///< the process has ended, but processes that it started keep the lease
    /// Pids of processes that keep the lease of an ended process, as far as this user may see them.
    std::vector<unsigned> kept_by = {};
};

/// One GPU with its leases.
struct LeaseGpu {
    std::string uuid, name;
    std::uint64_t total_bytes = 0, free_bytes = 0;  ///< free: as NVML reports it now
    std::uint64_t available_bytes = 0;              ///< free after all holders have allocated what they reserved
    int utilization_percent = -1;                   ///< -1: unknown
    int processes = 0;                              ///< with a context, as far as NVML lists them
    int foreign_count = 0;                          ///< number of processes that do not belong to holders
    /// The listed processes that do not descend from a holder: candidates for the foreign processes.
    std::vector<DeviceProcess> foreign_processes = {};
    std::vector<LeaseHolder> holders = {};
    unsigned creator_pid = 0;    ///< the process with the context creation lock; 0: none, or of another pid namespace
    double creator_since_s = 0;  ///< how long it has held the lock, as it reports
};

/// A waiting request.
struct LeaseWaiter {
    std::uint32_t uid = 0, pid = 0;
    std::uint64_t bytes = 0;  ///< requested on each GPU, not counting the context
    int gpus = 0;
    std::vector<std::string> candidates;  ///< UUIDs of the GPUs that the request can use
    double since_s = 0;                   ///< seconds since it arrived
    int passes = 0;                       ///< how often a later request was admitted first
    bool awake = false;                   ///< false: no recent heartbeat (stopped?), so the request is skipped
};

/// The result of snapshot_leases().
struct LeaseSnapshot {
    std::string directory, why_no_directory, why_no_gpu;  ///< why_...: empty if the directory or a GPU can be used
    std::vector<LeaseGpu> gpus;
    std::vector<LeaseWaiter> waiters;  ///< in order of arrival
};

/// Returns all leases and waiting requests now. Does not take part in the protocol. Does not throw for lack of a GPU.
LeaseSnapshot snapshot_leases();

}  // namespace glint::gpu
