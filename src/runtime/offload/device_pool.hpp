// The pool of GPUs of one Fitter, movie or session: leased and opened devices, idle or in use, and excluded ones.
//
// The pool manages which GPU may be leased, and when; the layer that opens a device (OpenDevice) decides how to use it.
// Each GPU has its own lease, so that one can be released while the others continue. run_on_devices() runs a workload
// on a pool.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "glint/gpu/context.hpp"
#include "glint/gpu/error.hpp"
#include "glint/gpu/lease.hpp"

namespace glint::offload {

/// An open GPU. The layer that opens it derives from this class, which owns the lease, the context and all objects on
/// that GPU. Used by one thread at a time: the thread that took it from the pool.
struct Device {
    explicit Device(const gpu::Lease& lease);
    virtual ~Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    virtual const gpu::Context& context() const = 0;
    /// The lease was shrunk for other processes. An out-of-memory error may then be resolved by a new lease.
    bool limit_was_lowered() const { return context().statistics().limit_bytes < limit_bytes; }

    /// Whether to put the device back between two parts of the work: the run has had it for a quantum
    /// (environment::gpu_quantum_s()), and a waiting request expects to need it for less time.
    bool should_give_way() const;

    const std::string name, uuid;
    // Set by the pool:
    std::uint64_t limit_bytes = 0;  ///< initial limit of the context
    /// When a shorter request was last seen after the end of a quantum. The heartbeat updates it once a second while
    /// the request waits.
    using Time = std::chrono::steady_clock::time_point;
    std::shared_ptr<const std::atomic<Time>> shorter_waited;
};

/// Whether the error, of the work or of `opening` a device, only means that other processes use the GPU. Such failures
/// never exclude a GPU: waiting helps.
bool is_full(const gpu::GpuError& error, bool opening);

/// Creates the context under the lease, and the layer's other objects. Throws gpu::GpuError.
using OpenDevice = std::function<std::unique_ptr<Device>(gpu::Lease)>;

/// Thread-safe. Devices that were taken must be put back or discarded before the pool is destroyed. A device that has
/// been idle for a second is released if other processes wait for its GPU.
class DevicePool {
  public:
    ~DevicePool();

    /// Removes and returns an idle device, preferably with UUID `near`; null: none is idle.
    std::unique_ptr<Device> take_idle(const std::string& near = {});
    void put_back(std::unique_ptr<Device> device);
    /// Destroys the device and releases its lease.
    void discard(std::unique_ptr<Device> device);
    /// Blocks until a device is put back or discarded, or `seconds` have passed.
    void wait(double seconds);

    /// Held from the request of a lease until open() has registered the device. Otherwise two threads could lease the
    /// same GPU twice, since the list of held GPUs is passed to the request.
    std::unique_lock<std::mutex> lock_leasing() { return std::unique_lock(leasing_); }
    /// Whether fewer than `max_devices` devices are held, and no request was refused in the last half second.
    bool may_lease(int max_devices) const;
    /// Records that a further lease was refused: no new request for half a second.
    void refused();
    /// Opens a leased device. Releases `turn` first, so that other threads can lease while the context is created (0.2
    /// s). When `open` throws, the lease is released.
    std::unique_ptr<Device> open(gpu::Lease lease, const OpenDevice& open, std::unique_lock<std::mutex> turn = {});
    int held() const;  ///< number of devices: in use, idle, or being opened

    /// Excludes a GPU that failed too often from further leases.
    void avoid(const std::string& uuid);
    bool avoids_any() const;
    /// Returns the GPUs for gpu::LeaseRequest::avoid: excluded and held GPUs, and if `near` is not empty, all GPUs but
    /// that one.
    std::vector<std::string> excluded_uuids(const std::string& near = {}) const;

    /// Number of GPUs that this process can use.
    int usable();
    /// Sets the reason why no GPU is requested for a while. The pause is a second, and doubles each time up to a
    /// minute, until a device is opened. The pause is at least as long as the last wait without success, so that at
    /// most half of the time is spent waiting. why_none() returns the reason; null: GPUs may be available.
    void set_why_none(std::exception_ptr why, double waited_s);
    std::exception_ptr why_none() const;
    /// At the beginning of a run: forgets an expired reason, and any reason if the work requires a GPU.
    void begin_run(bool gpu_required);
    /// Returns the reason that was set since the beginning of the run, even if it has expired.
    std::exception_ptr last_why_none() const;

    std::mutex callback_mutex;  ///< held during callbacks of the caller, so that they run one at a time

  private:
    struct Idle {
        std::unique_ptr<Device> device;
        std::chrono::steady_clock::time_point since;
    };
    void forget(const std::string& uuid);
    void give_back_idle(const std::string& uuid);

    static constexpr std::chrono::seconds min_ask_pause{1}, max_ask_pause{60};

    std::mutex giving_back_;    // held by give_back_idle()
    mutable std::mutex mutex_;  // guards the members below, except leasing_
    std::condition_variable changed_;
    std::deque<Idle> idle_;
    bool closing_ = false;
    std::vector<std::string> held_, avoid_;
    std::chrono::steady_clock::time_point next_lease_attempt_{};
    std::exception_ptr why_none_;
    std::chrono::steady_clock::time_point ask_after_{};
    std::chrono::seconds ask_pause_ = min_ask_pause;
    std::mutex leasing_;
    std::once_flag counted_;
    int usable_ = 0;
};

}  // namespace glint::offload
