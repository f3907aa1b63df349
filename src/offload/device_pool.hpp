// The GPUs that one user of them holds: leased, opened, idle or in use, given up.
//
// A fitter, a movie and a session each have a pool. What is done with a GPU is the affair of the layer that opens it;
// which one may be leased, by whom and when is the pool's. Each GPU has a lease of its own, so that one can be given
// back while the others go on. run_on_devices() has work done by the GPUs of a pool.
// SPDX-License-Identifier: MIT
#pragma once

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
#include "glint/gpu/lease.hpp"

namespace glint::offload {

/// An open GPU. The layer that opens it derives from this, and keeps the lease, the context and what it needs there.
/// Whoever took it from the pool uses it alone.
struct Device {
    explicit Device(const gpu::Lease& lease);
    virtual ~Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    virtual const gpu::Context& context() const = 0;
    /// Others got a part of the lease: a lack of memory now may be over with a new one.
    bool limit_was_lowered() const { return context().statistics().limit_bytes < limit_bytes; }

    const std::string name, uuid;
    std::uint64_t limit_bytes = 0;  ///< of the context's memory, as it began; set by the pool
};

/// Makes a context under the lease, and what else a layer keeps with it. Throws gpu::GpuError.
using OpenDevice = std::function<std::unique_ptr<Device>(gpu::Lease)>;

/// Thread-safe. Devices that were taken are put back or discarded before the pool's end.
class DevicePool {
  public:
    /// One that nobody uses, `near` where that is among them; null: there is none.
    std::unique_ptr<Device> take_idle(const std::string& near = {});
    void put_back(std::unique_ptr<Device> device);
    /// Gives the lease back.
    void discard(std::unique_ptr<Device> device);
    /// Waits so long at most for one to be put back or discarded.
    void wait(double seconds);

    /// To be held from the request for a lease until open() has it: two requests at once could get the same GPU.
    std::unique_lock<std::mutex> lock_leasing() { return std::unique_lock(leasing_); }
    /// There are less than `most`, and a further one was not refused just now.
    bool may_lease(int most) const;
    /// A further one was refused: not to be asked for in the next half second.
    void refused();
    /// Opens what was leased, and lets others lease meanwhile, since a context takes 0.2 s. When `open` throws, the lease
    /// has gone back.
    std::unique_ptr<Device> open(gpu::Lease lease, const OpenDevice& open, std::unique_lock<std::mutex> turn = {});
    int held() const;  ///< devices in use or not, and those being opened

    /// This one failed too often: never to be leased again.
    void avoid(const std::string& uuid);
    bool avoids_any() const;
    /// For gpu::LeaseRequest::avoid: those to avoid, and those that are held; with `near`, all others than that too.
    std::vector<std::string> excluded_uuids(const std::string& near = {}) const;

    /// How many GPUs this process can use.
    int usable();
    /// Set: no GPU is to be had any more, and none is asked for.
    void set_why_none(std::exception_ptr why);
    std::exception_ptr why_none() const;

    std::mutex callback_mutex;  ///< held while a caller's function is called, so that these come one at a time

  private:
    void forget(const std::string& uuid);

    mutable std::mutex mutex_;  // for what follows
    std::condition_variable changed_;
    std::deque<std::unique_ptr<Device>> idle_;
    std::vector<std::string> held_, avoid_;
    std::chrono::steady_clock::time_point next_lease_attempt_{};
    std::exception_ptr why_none_;
    std::mutex leasing_;
    std::once_flag counted_;
    int usable_ = 0;
};

}  // namespace glint::offload
