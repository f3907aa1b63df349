// Work done by the GPUs of a pool: each has a thread; what fails is tried again, there, on another GPU, or not at all.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "glint/progress.hpp"
#include "offload/device_pool.hpp"
#include "offload/workload.hpp"

namespace glint::offload {

struct DeviceRequest {
    std::uint64_t bytes = std::uint64_t(1) << 30;  ///< to lease of each device, beyond the context
    int threads = 1;                               ///< devices at work at once
    int most = 1;                                  ///< devices that the pool may hold
    std::string near;                ///< UUID of the GPU that the input lies on, and the only one to lease
    bool open_without_work = false;  ///< one is opened also where nothing is to be done: to see if it can

    /// How long to go without a device, waiting or failing; begins anew with each part that is finished.
    double timeout_s = std::numeric_limits<double>::infinity();
    /// Not to wait longer for a device, since that does not pay.
    double worth_waiting_s = std::numeric_limits<double>::infinity();
    /// What a lack of devices ends in: an exception, or DeviceRun::finished being false.
    bool strict = false;

    const StopFlag* stop = nullptr;
    /// Set, when all is finished, by others who work on the same: a wait for a device ends then.
    const StopFlag* finished_by_others = nullptr;
    // These are called by one thread at a time.
    std::function<void(double elapsed_s, std::uint64_t available_bytes, std::uint64_t required_bytes)> on_wait;
    std::function<void(const std::string&)> log;  ///< told of every wait, failure and new attempt

    std::function<void()>
        require;  ///< called before a lease is asked for; throws gpu::NoGpu where none would be of use
    OpenDevice open;
    /// Told of the first device when it is open, and how long that took.
    std::function<void(const Device&, double seconds)> on_opened;
    /// Works until there is nothing to be had; throws what goes wrong. `useful` is set when a part was finished, also
    /// where it throws: failures count anew from then on.
    std::function<void(Device&, bool& useful)> work;
};

/// How it went, also when it threw.
struct DeviceRun {
    bool finished = false;  ///< all was done; false: what is left is for the CPU
    double waited_s = 0;
    int retries = 0;  ///< times that a device was asked for again after a failure
    bool opened = false;
    bool wait_abandoned = false;  ///< to wait longer was not worth it; it may be for later work
};

/// Throws what nothing helps against, and with DeviceRequest::strict what the devices failed by.
void run_on_devices(DevicePool& pool, const DeviceRequest& request, Workload& workload, DeviceRun& run);

}  // namespace glint::offload
