// What is to be expected of the machine's GPUs now: whether there is one, how long until it can be had, how busy it is.
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
    std::string why_no_gpu;    ///< empty: there is one
    std::string uuid, driver;  ///< of the one that would be taken
    double wait_s = 0;         ///< expected, until `bytes` can be leased
    double contention = 1;     ///< times longer work takes beside others
};

/// For a lease of so many bytes beyond the context. A holder is expected to stay for as long again as it has been there
/// (J. R. Gott, Nature 363, 315 (1993)): nothing else is known of it.
GpuForecast forecast(const gpu::Inventory& inventory, const gpu::LeaseSnapshot& leases, std::uint64_t bytes);
/// The same of this machine now. Takes up to 20 ms the first time, 1 ms later.
GpuForecast forecast_now(std::uint64_t bytes);

/// look(), once a second at most.
class ForecastCache {
  public:
    const GpuForecast& get(std::uint64_t bytes);
    const GpuForecast& last() const { return last_; }
    bool has_forecast() const { return updated_.has_value(); }
    void invalidate() { updated_.reset(); }  ///< the next one looks again

  private:
    GpuForecast last_;
    std::optional<std::chrono::steady_clock::time_point> updated_;
};

}  // namespace glint::offload
