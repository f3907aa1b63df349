// A forecast for a GPU that is not open yet: which one would be leased, the expected wait, and the contention on it.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "glint/gpu/device.hpp"
#include "glint/gpu/lease.hpp"

namespace glint::offload {

struct GpuForecast {
    std::string why_no_gpu;    ///< why no GPU can be used; empty: a GPU can be used
    std::string uuid, driver;  ///< of the GPU that would be leased
    double wait_s = 0;         ///< expected time until the lease
    double contention = 1;     ///< factor by which work takes longer beside other processes
};

/// The forecast for a lease of `bytes`, not counting the context. The expected remaining time of a lease is its age
/// (J. R. Gott, Nature 363, 315 (1993)), since nothing else is known about it.
/// `device`: the number of the only GPU to consider; -1: any.
GpuForecast forecast(const gpu::Inventory& inventory, const gpu::LeaseSnapshot& leases, std::uint64_t bytes,
                     int device = -1);

/// Returns why this GPU cannot be used: "GPU 7 was asked for, and this process sees 2, counted from 0".
std::string why_not_device(const gpu::Inventory& inventory, int device);

/// Forecasts for this machine, from a query that is at most a second old: decisions take microseconds and often follow
/// each other, while the first query takes 20 ms and later queries 1 ms. Not thread-safe.
class ForecastCache {
  public:
    const GpuForecast& get(std::uint64_t bytes, int device = -1);
    const GpuForecast& last() const { return last_; }
    bool has_forecast() const { return updated_.has_value(); }
    double query_s() const { return query_s_; }  ///< duration of the first query; 0: none yet
    void invalidate() { updated_.reset(); }      ///< the next get() queries again

  private:
    gpu::Inventory inventory_;
    gpu::LeaseSnapshot leases_;
    GpuForecast last_;
    std::uint64_t bytes_ = 0;  // the lease size that last_ is for
    double query_s_ = 0;
    std::optional<std::chrono::steady_clock::time_point> updated_;
};

}  // namespace glint::offload
