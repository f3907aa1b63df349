// What NVML shows of the machine's GPUs now, as the policy wants it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glint/gpu/device.hpp"
#include "gpu/lease/policy.hpp"
#include "gpu/lease/record.hpp"

namespace glint::gpu::lease {

struct ObservedGpu {
    Gpu gpu;  ///< its context_bytes and most_contexts are what is usual
    GpuId id{};
    std::string name;
    int ordinal = -1;              ///< CUDA's, in this process
    bool usable = false;           ///< by this process
    bool usable_by_child = false;  ///< by a program that it starts
    bool free_known = false;       ///< false: free_bytes is all it has
    std::vector<DeviceProcess> processes;
};

struct Observation {
    std::vector<ObservedGpu> gpus;
    std::uint32_t driver = 0;  ///< a number that changes with the driver
    std::string why_none;      ///< why this process can use none
};

/// Looks at the GPUs without a context. Not thread-safe.
class GpuProbe {
  public:
    virtual ~GpuProbe() = default;
    virtual Observation look() = 0;
};

/// By inventory() once, then by NVML alone: some 20 us a GPU.
class NvmlProbe final : public GpuProbe {
  public:
    Observation look() override;

  private:
    bool looked_ = false;
    Observation last_;
};

}  // namespace glint::gpu::lease
