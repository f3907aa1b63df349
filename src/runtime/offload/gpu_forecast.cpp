// Predicts wait and contention from a snapshot of the leases.
//
// A forecast only decides whether to request the GPU. The actual wait is limited to the time that the GPU would save
// (DeviceRequest::worth_waiting_s), so a wrong forecast at most doubles the time of the work.
// SPDX-License-Identifier: MIT
#include "offload/gpu_forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace glint::offload {
namespace {

// Seconds, unless said otherwise.
constexpr double min_hold_s = 0.1;      // lower bound of the remaining time of a holder that has just started
constexpr double foreign_wait_s = 60;   // for memory of foreign processes, whose remaining time is unknown
constexpr double max_utilization = 95;  // percent
constexpr std::chrono::seconds cache_lifetime(1);

/// Returns the seconds until `bytes` are available if the holders leave in the expected order. A lease is expected to
/// last as long again as it has lasted, so the youngest leaves first. The wait is the age of the holder whose end
/// leaves enough room.
double wait_for_room(const gpu::LeaseGpu& of, std::uint64_t bytes) {
    if (of.available_bytes >= bytes) return 0;
    std::vector<const gpu::LeaseHolder*> holders;
    for (const gpu::LeaseHolder& holder : of.holders) holders.push_back(&holder);
    std::sort(holders.begin(), holders.end(), [](const auto* a, const auto* b) { return a->since_s < b->since_s; });
    std::uint64_t room = of.available_bytes;
    for (const gpu::LeaseHolder* holder : holders) {
        // Both parts of a lease are returned: the bytes that it holds become free, and its remaining reservation is
        // cancelled.
        room += holder->reserved_bytes;
        if (room >= bytes) return std::max(holder->since_s, min_hold_s);
    }
    // Even without any lease there would not be room: foreign processes use the rest.
    return foreign_wait_s;
}

/// NVML's utilization is the share of the time in which any kernel ran. The remaining share is available: at 50 %, work
/// takes twice as long. Capped, because a GPU at 100 % still schedules several processes.
double contention_on(const gpu::LeaseGpu& of) {
    if (of.processes == 0 || of.utilization_percent <= 0) return 1;
    return 1 / (1 - std::min<double>(of.utilization_percent, max_utilization) / 100);
}

}  // namespace

std::string why_not_device(const gpu::Inventory& inventory, int device) {
    if (!inventory.why_none.empty()) return inventory.why_none;
    const auto seen = std::count_if(inventory.devices.begin(), inventory.devices.end(),
                                    [](const gpu::Device& one) { return one.ordinal >= 0; });
    for (const gpu::Device& one : inventory.devices)
        if (one.ordinal == device) return one.why_not.empty() ? "" : fmt::format("GPU {}: {}", device, one.why_not);
    return fmt::format("GPU {} was asked for, and this process sees {}, counted from 0", device, seen);
}

GpuForecast forecast(const gpu::Inventory& inventory, const gpu::LeaseSnapshot& leases, std::uint64_t bytes,
                     int device) {
    GpuForecast best;
    best.driver = inventory.driver_version;
    best.why_no_gpu = inventory.why_none;
    best.wait_s = std::numeric_limits<double>::infinity();
    for (const gpu::Device& one : inventory.devices) {
        // An exclusive GPU in use counts as usable, after a wait.
        if (one.ordinal < 0 || (!one.why_not.empty() && !one.occupied)) continue;
        if (device >= 0 && one.ordinal != device) continue;
        const auto shared = std::find_if(leases.gpus.begin(), leases.gpus.end(),
                                         [&](const gpu::LeaseGpu& of) { return of.uuid == one.uuid; });
        // Without lease data, no wait and no contention are assumed, as on an unshared machine.
        const bool seen = shared != leases.gpus.end();
        const double wait_s = seen ? wait_for_room(*shared, bytes) : 0;
        const double contention = seen ? contention_on(*shared) : 1;
        if (wait_s < best.wait_s || (wait_s == best.wait_s && contention < best.contention))
            best.uuid = one.uuid, best.wait_s = wait_s, best.contention = contention;
    }
    if (!best.uuid.empty())
        // The inventory's reason is about GPUs that cannot be used now. For an occupied GPU, a request can wait.
        best.why_no_gpu.clear();
    else if (best.why_no_gpu.empty())
        best.why_no_gpu = device < 0 ? "no GPU can be used" : why_not_device(inventory, device);
    if (best.uuid.empty()) best.wait_s = 0;
    // Requests in the queue are served before; each is assumed to take as long as the first wait. The queue skips
    // stopped requests (not awake), so they do not count.
    int before = 0;
    for (const gpu::LeaseWaiter& waiter : leases.waiters)
        before += waiter.awake &&
                  std::find(waiter.candidates.begin(), waiter.candidates.end(), best.uuid) != waiter.candidates.end();
    if (before > 0) best.wait_s = std::max(best.wait_s, min_hold_s) * (1 + before);
    return best;
}

const GpuForecast& ForecastCache::get(std::uint64_t bytes, int device) {
    const bool look = !updated_ || std::chrono::steady_clock::now() - *updated_ > cache_lifetime;
    if (look) {
        const std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
        inventory_ = gpu::inventory();
        // Avoids queries of NVML and the scan of the lease directory if no GPU can be used anyway.
        leases_ = inventory_.worth_waiting() ? gpu::snapshot_leases() : gpu::LeaseSnapshot();
        updated_ = std::chrono::steady_clock::now();
        if (query_s_ == 0) query_s_ = std::chrono::duration<double>(*updated_ - began).count();
    }
    if (look || bytes != bytes_) last_ = forecast(inventory_, leases_, bytes, device), bytes_ = bytes;
    return last_;
}

}  // namespace glint::offload
