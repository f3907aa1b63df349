// Observes the GPUs of the machine through NVML, in the form that the policy uses.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "glint/gpu/device.hpp"
#include "gpu/lease/policy.hpp"
#include "gpu/lease/record.hpp"

namespace glint::gpu::lease {

/// One GPU or MIG instance. A GPU that is divided into instances is not listed itself, as no process can use the whole
/// GPU.
struct ObservedGpu {
    Gpu gpu;  ///< with default values of context_bytes and max_contexts
    GpuId id{};
    std::string name;
    int ordinal = -1;              ///< CUDA's, in this process
    bool usable = false;           ///< by this process
    bool usable_by_child = false;  ///< by a program that it starts
    /// free_known: whether NVML reports the free memory. If a query fails, gpu.free_bytes is the last reported value,
    /// or 0. If NVML never reports free memory (on some GPUs, or without NVML), gpu.free_bytes is the total.
    bool free_known = false, free_was_known = false;  ///< now; at any query of this probe
    bool lost = false;                                ///< by NVML: the GPU has fallen off the bus, or hangs
    std::string nvml_why;  ///< why NVML fails on this GPU now; empty: no failure, or it never reports free memory
    std::vector<DeviceProcess> processes;
    /// Utilization of the GPU by each process, in percent by pid. Only determined if a process might disturb others:
    /// several processes use the GPU, and it is as busy as Rules::foreign_utilization_percent. nullopt if NVML or the
    /// system hides it.
    std::optional<std::map<unsigned, int>> percent_by_process;
    /// Users of the processes there; nullopt if NVML or the system hides them (in a container).
    std::optional<std::set<std::uint32_t>> users;
};

struct Observation {
    std::vector<ObservedGpu> gpus;
    std::uint32_t driver = 0;  ///< hash of the driver version: measured values hold for one driver only
    std::string why_none;      ///< why this process can use none of the GPUs
};

/// The interface to the state of the GPUs, replaced in tests. Creates no context. Not thread-safe.
class GpuProbe {
  public:
    virtual ~GpuProbe() = default;
    /// Returns the current state. The GPUs and their order are the same at each call, since callers keep indices.
    virtual Observation observe() = 0;
};

/// Calls inventory() once, then NVML alone: about 20 us per GPU. The first call takes 14 ms if NVML was not initialised
/// before. No call creates a context, which would take 0.2 s and half a GiB of each GPU only for a query.
class NvmlProbe final : public GpuProbe {
  public:
    Observation observe() override;

  private:
    bool initialized_ = false;
    Observation last_;
};

}  // namespace glint::gpu::lease
