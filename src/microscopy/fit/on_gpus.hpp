// Fits of stacks and movies on the GPUs of a pool: from a placement to a device request, and from a run to FitInfo.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

#include "glint/fit.hpp"
#include "glint/gpu_fit.hpp"
#include "glint/offload/decision.hpp"
#include "offload/run_on_devices.hpp"

namespace glint {

/// Returns the request that these arguments describe. The caller adds the number of devices and the work.
offload::DeviceRequest device_request(const Placement& placement, const Callbacks& callbacks);
/// Returns the fitter of a device that such a request has opened.
GpuFitter& fitter_of(offload::Device& device);
/// Adds the work of one GPU in `seconds` to `info`.
void add_part(FitInfo& info, FitInfo part, const std::string& name, const std::string& uuid, double seconds);
/// Returns the maximum number of GPUs that the pool may hold, from Placement::gpus.
int max_gpus(offload::DevicePool& pool, int wanted);
/// Returns how much time GPUs that need `gpus_s` save over the CPU: the longest wait for them that is worthwhile.
double worth_waiting_s(const offload::Decision& decision, double gpus_s);

/// Fits until no work is left; throws on errors. `part` receives the work that was done, even on an error, with the
/// number of final fits in FitInfo::fits. `useful` is as in offload::DeviceRequest::work. Returns early, between two
/// batches or blocks, if gives_way() returns true.
using WorkOnGpu =
    std::function<void(GpuFitter& gpu, FitInfo& part, bool& useful, const std::function<bool()>& gives_way)>;

/// Calls run_on_devices() with `fit` as the work. `info` receives the work that was done, even if this throws.
offload::DeviceRun run_on_gpus(offload::DevicePool& pool, offload::DeviceRequest request, offload::Workload& workload,
                               const Callbacks& callbacks, const WorkOnGpu& fit, FitInfo& info);

/// Sets the note of `info` to the reason why the CPU fits the remaining rows, after run_on_gpus() did not finish.
void note_why_cpu(const offload::DevicePool& pool, std::int64_t finished, FitInfo& info);

}  // namespace glint
