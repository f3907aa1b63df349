// Runs a workload on the GPUs of a pool, one thread per GPU, with retries after failures: on the same GPU, on another
// GPU, or not at all.
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
    std::uint64_t bytes = std::uint64_t(1) << 30;  ///< to lease on each device, not counting the context
    int threads = 1;                               ///< devices used at the same time
    int max = 1;                                   ///< devices that the pool may hold
    std::string near;                ///< UUID of the GPU that holds the input; if not empty, no other GPU is leased
    bool open_without_work = false;  ///< open a device even for an empty workload, to check that it can be used

    /// Maximum time without progress, waiting for a device or retrying; restarts with each finished part.
    double timeout_s = std::numeric_limits<double>::infinity();
    /// Maximum wait for a device; after a longer wait, the CPU is expected to be faster.
    double worth_waiting_s = std::numeric_limits<double>::infinity();
    /// Without a usable device: throw (true), or return with DeviceRun::finished false, so that the CPU computes the
    /// rest. A lack of memory is thrown in both cases unless process_oom_safe().
    bool strict = false;

    const StopFlag* stop = nullptr;  ///< polled; when set, Cancelled is thrown
    /// Set by other threads that process the same workload when all of it is finished; ends a wait for a device.
    const StopFlag* finished_by_others = nullptr;
    // Callbacks. on_wait and log are called by one thread at a time (DevicePool::callback_mutex).
    std::function<void(double elapsed_s, std::uint64_t available_bytes, std::uint64_t required_bytes)> on_wait;
    std::function<void(const std::string&)> log;  ///< receives every wait, failure and retry

    /// Called before a lease is requested; throws gpu::NoGpu if no GPU could do the work.
    std::function<void()> require;
    OpenDevice open;
    /// Called once the first device is open, with the time that opening took.
    std::function<void(const Device&, double seconds)> on_opened;
    /// Processes parts of the workload until none is left; throws gpu::GpuError on failure. Sets `useful` as soon as a
    /// part is finished, even if it throws later; this resets the count of failures. Returns early if
    /// Device::should_give_way().
    std::function<void(Device&, bool& useful)> work;
    double expected_s = 0;  ///< as gpu::LeaseRequest::expected_s
};

/// Result of a run; valid also when run_on_devices() throws.
struct DeviceRun {
    bool finished = false;  ///< all parts are done; false: the rest is left to the CPU
    double waited_s = 0;
    int retries = 0;  ///< attempts after a failure
    bool opened = false;
    bool wait_abandoned = false;  ///< worth_waiting_s expired; later work may justify a longer wait
};

/// Blocks until the workload is finished or no device can be used. Throws errors that a retry cannot resolve,
/// Cancelled, and with DeviceRequest::strict the last error of the devices.
void run_on_devices(DevicePool& pool, const DeviceRequest& request, Workload& workload, DeviceRun& run);

}  // namespace glint::offload
